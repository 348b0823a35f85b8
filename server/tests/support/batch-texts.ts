import * as fc from "fast-check";
import { someMicros, wireRun } from "./wire-runs.ts";

const root = wireRun({ id: "01a20177-2565-737a-8327-bc822f53273d" });
const bad = "01A20177-2565-737a-8327-bc822f53273d";
const usage = { usage_metadata: { input_tokens: 3, output_tokens: 4, total_cost: 0.25 } };

/** Texts of columns. */
const someText = fc.constantFrom(
  "a",
  "b",
  "answer",
  "ä",
  "",
  "exactly sixteen!",
  "seventeen letters",
  "日本語",
  "x\\y",
);
const id = fc.constantFrom(
  ...Array.from({ length: 6 }, (_, at) => `01a20177-2565-737a-8327-bc822f53273${at}`),
);
const micros = fc.integer({ min: someMicros, max: someMicros + 3_000_000 });
const place = fc
  .tuple(fc.array(id, { minLength: 1, maxLength: 4 }), micros)
  .map(
    ([ids, start]) =>
      ids.reduce<ReturnType<typeof wireRun> | undefined>(
        (parent, own, at) =>
          wireRun({ id: own, micros: start + at, ...(parent === undefined ? {} : { parent }) }),
        undefined,
      ) ?? root,
  );
const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    5,
    "",
    "text",
    {},
    [],
    ["llm"],
    usage,
    { metadata: usage },
    [{ name: "new_token", time: 5 }],
    bad,
  ),
  fc.constantFrom<unknown>(
    "2026-11-21T10:11:12.345678Z",
    "2026-11-21T10:11:12Z",
    1_763_719_872_345.5,
    "2026-13-21T10:11:12.345678Z",
  ),
  fc.json().map((json) => JSON.parse(json) as unknown),
);
const details = fc.record(
  {
    name: someText,
    run_type: someText,
    session_name: someText,
    inputs: anyValue,
    outputs: anyValue,
    extra: anyValue,
    tags: fc.array(someText),
    error: someText,
    events: anyValue,
    other: anyValue,
    start_time: fc.constantFrom("2026-11-21T10:11:12.345678Z", null),
    end_time: fc.constantFrom("2026-11-21T10:11:14.000000Z", null),
  },
  { requiredKeys: [] },
);
const memberNames =
  "id trace_id dotted_order session_id session_name name run_type start_time end_time parent_run_id reference_example_id inputs outputs extra error tags events serialized attachments".split(
    " ",
  );
const spoilt = fc.dictionary(fc.constantFrom(...memberNames, "é", "__proto__"), anyValue, {
  maxKeys: 2,
  noNullPrototype: true,
});
const run = fc
  .tuple(place, details, fc.option(spoilt, { freq: 3 }), fc.boolean())
  .map(([at, fields, over, isKeptFirst]) => ({
    ...(isKeptFirst ? fields : {}),
    ...at,
    ...fields,
    ...over,
  }));
const spaces = fc.constantFrom("", "", " ", "\n\t\r  ");
/** The JSON of a batch of runs, most of them valid. */
export const batchText = fc
  .tuple(fc.array(run, { maxLength: 8 }), fc.array(run, { maxLength: 3 }), spaces, fc.boolean())
  .map(([post, patch, space, isPatchFirst]) =>
    JSON.stringify(isPatchFirst ? { patch, post } : { post, patch }, undefined, space),
  );

const mutation = fc.record({
  at: fc.nat(),
  byte: fc.constantFrom(...Buffer.from('"\\{}[],:0eE.-+ntf \n\0\x1fAz'), 0x80, 0xff),
  how: fc.constantFrom("set", "cut", "insert", "double"),
});

/** A batch in which some bytes are replaced, removed, inserted or repeated, mostly making it malformed. */
export const mutatedBatch = fc
  .tuple(batchText, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([text, mutations]) =>
    mutations.reduce((body, { at, byte, how }) => {
      const from = at % (body.length + 1);
      const [head, tail] = [body.subarray(0, from), body.subarray(from)];
      switch (how) {
        case "set":
          return Buffer.concat([head, Buffer.of(byte), tail.subarray(1)]);
        case "cut":
          return Buffer.concat([head, tail.subarray(byte)]);
        case "insert":
          return Buffer.concat([head, Buffer.of(byte), tail]);
        default:
          return Buffer.concat([head, tail.subarray(0, byte), tail]);
      }
    }, Buffer.from(text)),
  );
