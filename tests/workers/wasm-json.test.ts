import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { renderModule } from "../../scripts/wasm.mjs";
import { stampLength, uuidLength } from "../../src/model/dotted-order.ts";
import * as tape from "../../src/model/records/tape-format.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import { joinRecords } from "../../src/workers/json/operations.ts";
import type { RunOperation } from "../../src/workers/json/operations.ts";
import { RunJson } from "../../src/workers/json/run-json.ts";
import { TapeBatch } from "../../src/workers/sinks/tape-batch.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { WasmJson } from "../../src/workers/json/wasm-json.ts";
import { writeJson } from "../support/written-json.ts";
import { manyRuns, runId, tapeOf } from "../support/run-batch.ts";
import type { TestRecord } from "../support/run-batch.ts";

const runtime = Buffer.from('{"sdk":"test","sdk_version":"1"}');
const wasm = moduleOf(runtime);

function moduleOf(facts: Buffer): WasmJson {
  const created = WasmJson.create(facts);
  if (created === undefined) {
    throw new Error("There is no WebAssembly here");
  }
  return created;
}

interface Bodies {
  readonly plain: string;
  readonly fromModule: string;
}

/** The bodies of a request with these records: one written by TypeScript, one by the module. */
function bodiesOf(
  records: readonly TestRecord[],
  { format = "batch", change = (runs) => runs }: Partial<Way> = {},
): Bodies {
  const { memory, usedBytes } = tapeOf(records);
  const reader = new TapeReader(memory, usedBytes);
  const runs = change(joinRecords(reader));
  const written = (json: RunJson): string => {
    const out = new JsonWriter(Buffer.alloc(64));
    new TapeBatch(reader, json, runs).writeBody(out, format);
    return out.bytes.toString("utf8", 0, out.length);
  };
  return {
    plain: written(new RunJson(reader, runtime)),
    fromModule: written(new RunJson(reader, runtime, { wasm })),
  };
}

interface Way {
  readonly format: "batch" | "multipart" | "single";
  readonly change: (runs: readonly RunOperation[]) => readonly RunOperation[];
}

test(
  "src/workers/json/json-module.ts matches the compiled wasm/",
  { timeout: 60_000 },
  async () => {
    const {
      field,
      tag,
      headOffset,
      singleFieldCodeLimit,
      fieldHeadBytes,
      recordHeadBytes,
      longestShortText,
    } = tape;
    const numbers = {
      fieldCodes: singleFieldCodeLimit,
      fieldHead: fieldHeadBytes,
      recordHead: recordHeadBytes,
      longestShortText,
      stampLength,
      uuidLength,
    };
    const file = new URL("../../src/workers/json/json-module.ts", import.meta.url);
    expect(readFileSync(file, "utf8")).toBe(
      await renderModule({ field, tag, headOffset, ...numbers }),
    );
  },
);

const whole = {
  inputs: { messages: [{ role: "user", content: 'say "hi"\n\u0001' }], temperature: 0.7 },
  outputs: {
    text: "grüße, приве́т, 日本語 😀 \ud800".repeat(9),
    usage: { tokens: -117, none: null },
  },
  run_type: "llm",
  tags: ["a", "b"],
  events: [{ name: "new_token", time: "2026-11-21T10:11:12Z" }],
  error: 'broke: "x"\\',
  serialized: { lc: 1 },
  reference_example_id: runId(99),
  start_time: "2026-11-21T10:11:12.345678Z",
  end_time: 1_800_000_000_123,
};

test.each<readonly [string, readonly TestRecord[]]>([
  ["one with every field", [{ id: runId(1), run: whole }]],
  ["a start and its end", [{ id: runId(1), run: whole }, patchOf(1, { outputs: { b: 2 } })]],
  ["several ends without a start", [1, 2, 3].map((n) => patchOf(1, { outputs: { n } }))],
  ["posts and patches in turn", [...manyRuns(3), patchOf(9, { error: "e" }), ...manyRuns(2)]],
  ["one without a place in a trace", [{ id: runId(1), run: whole, withoutDottedOrder: true }]],
  ["metadata", [{ id: runId(1), run: { extra: { metadata: { a: 1 } } } }]],
  ["an empty extra", [{ id: runId(1), run: { extra: {} } }]],
  ["an extra with facts of its own", [{ id: runId(1), run: { extra: { runtime: { sdk: 1 } } } }]],
  ["keys of its own among others", [manyRuns(1), { id: runId(2), run: { own: 1 } }].flat()],
  ["binary data", [{ id: runId(1), run: { inputs: { data: new Uint8Array(999), b: 1 } } }]],
  ["more records than the module takes", Array.from({ length: 99 }, (_, n) => patchOf(1, { n }))],
  [
    "more than the module's memory holds at once",
    manyRuns(500, { inputs: { text: "\u0001x".repeat(900) } }),
  ],
])("a run has the same JSON from the module as without it: %s", (_name, records) => {
  const { plain, fromModule } = bodiesOf(records);
  expect(fromModule).toBe(plain);
  expect(() => JSON.parse(plain) as unknown).not.toThrow();
});

const binaryExponents = Array.from({ length: 2_098 }, (_, n) => n - 1_074);
const decimalExponents = Array.from({ length: 632 }, (_, n) => n - 323);

/** A number, and the next ones below and above it. */
function neighbours(value: number): readonly number[] {
  const floats = new Float64Array([value]);
  const bits = new BigInt64Array(floats.buffer);
  const [own = 0n] = bits;
  return [own - 1n, own, own + 1n].map((each) => {
    bits[0] = each;
    return floats[0] ?? Number.NaN;
  });
}

test.each<readonly [string, readonly number[]]>([
  ["the powers of two", binaryExponents.flatMap((exponent) => neighbours(2 ** exponent))],
  ["the powers of ten", decimalExponents.flatMap((n) => neighbours(Number(`1e${n}`)))],
  ["whole numbers", [0, 9, 10, 2 ** 31, 2 ** 53, 999_999_999_999_999, 1e15, 1e20, 1e21, 1.5e21]],
  ["numbers just above 0", [5e-324, 1e-7, 1e-6, 1.5e-6, 1.5e-7, 2.225_073_858_507_201e-308]],
  ["prices", [0.1, 0.1 + 0.2, 4.35, 19.99, 0.000_003, 1 / 3, 123_456.789]],
])("numbers have the digits that JavaScript writes: %s", (_name, numbers) => {
  const values = numbers.filter(Number.isFinite).flatMap((number) => [number, -number]);
  const { plain, fromModule } = bodiesOf([{ id: runId(1), run: { inputs: { values } } }]);
  expect(fromModule).toContain(JSON.stringify({ values }));
  expect(fromModule).toBe(plain);
});

test("texts of every short length have the same JSON, with and without escapes", () => {
  const values = Array.from({ length: 40 }, (_, length) => [
    "x".repeat(length),
    `${"x".repeat(length)}"`,
    `\n${"é".repeat(length)}`,
  ]).flat();
  const keyed = Object.fromEntries(values.map((value) => [value, value]));
  const { plain, fromModule } = bodiesOf([{ id: runId(1), run: { inputs: { values, keyed } } }]);
  expect(fromModule).toContain(JSON.stringify({ values, keyed }));
  expect(fromModule).toBe(plain);
});

function patchOf(number: number, run: Readonly<Record<string, unknown>>): TestRecord {
  return { id: runId(number), operation: "patch", run };
}

test("runs with markers among others have the same JSON as without the module", () => {
  const { plain, fromModule } = bodiesOf([...manyRuns(5, whole)], {
    change: (runs) =>
      runs.map((run, i) => (i % 2 === 0 ? run : { ...run, withheldFields: ["inputs"] })),
  });
  expect(fromModule).toBe(plain);
  expect(fromModule).toContain("[truncated]");
});

test.each(["multipart", "single"] as const)(
  "the format %s is the same with the module",
  (format) => {
    const { plain, fromModule } = bodiesOf([{ id: runId(1), run: whole }], { format });
    expect(fromModule).toBe(plain);
  },
);

/** Texts with unusual characters at every position within a step of the module, and across two steps. */
const unusualTexts = [
  '"',
  "\\",
  "\n",
  "\u0000",
  "\u007f",
  "é",
  "ܣ",
  "ࠀ",
  "日",
  "😀",
  "\ud83d",
  "\ude00",
  "\uffff",
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...unusualTexts), fc.string({ maxLength: 20 })), {
    maxLength: 12,
  })
  .map((parts) => parts.join(""));

test("a text of any length with special characters anywhere is written as JSON.stringify does", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 300 }), (generated, before) => {
      const plain = "x".repeat(before) + generated;
      const wide = "ж".repeat(before) + generated;
      expect(writeJson([plain, wide, generated])).toBe(JSON.stringify([plain, wide, generated]));
    }),
    { numRuns: 2_000 },
  );
});

test("long texts with special characters at every boundary between steps are written correctly", () => {
  for (const border of [16_384, 32_768]) {
    for (const character of ["😀", "\ud83d", '"', "日"]) {
      for (let at = border - 3; at <= border + 3; at++) {
        for (const fill of ["x", "ж"]) {
          const long = `${fill.repeat(at)}${character}${fill.repeat(40)}`;
          expect(writeJson(long)).toBe(JSON.stringify(long));
        }
      }
    }
  }
});

const fraction = fc
  .tuple(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), fc.integer({ min: 0, max: 9 }))
  .map(([digits, decimals]) => digits / 10 ** decimals);

test("a number is written as JSON.stringify does", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fraction),
      (generated) => {
        expect(writeJson(generated)).toBe(JSON.stringify(generated));
      },
    ),
    { numRuns: 5_000 },
  );
  const bounds = [1e15, 999_999_999_999_999, 1e21, 1e-6, 1e-7, 0.1 + 0.2, 2 ** 53, 5e-324];
  for (const bound of [...bounds, 1.7976931348623157e308, 123_456_789.123_456, 0.000_001_5]) {
    expect(writeJson([bound, -bound])).toBe(JSON.stringify([bound, -bound]));
  }
});

test("after an invalid or too deeply nested value, the module continues to work", () => {
  const { memory, usedBytes } = tapeOf(manyRuns(1, { inputs: { a: 1 } }));
  const reader = new TapeReader(memory, usedBytes);
  const at = reader.findFieldStart(0, tape.field.inputs);
  const json = (): string => {
    const out = new JsonWriter(Buffer.alloc(16));
    expect(wasm.begin(out, reader, [{ records: [0] }])).toBe(true);
    try {
      wasm.writeValue(at);
    } finally {
      wasm.end();
    }
    return out.bytes.toString("utf8", 0, out.length);
  };
  const before = json();
  const originalByte = reader.bytes[at];
  reader.bytes[at] = 0x3f;
  expect(json).toThrow(new RangeError(`No value at byte ${at} of the tape`));
  reader.bytes[at] = originalByte ?? 0;
  expect(json()).toBe(before);
  const deep = deepTape(1_000_000);
  const out = new JsonWriter(Buffer.alloc(16));
  expect(wasm.begin(out, deep, [{ records: [0] }])).toBe(true);
  expect(() => wasm.writeValue(deep.findFieldStart(0, tape.field.inputs))).toThrow(RangeError);
  wasm.end();
  expect(json()).toBe(before);
});

/** A tape of one record whose inputs are `depth` nested arrays. */
function deepTape(depth: number): TapeReader {
  const used = tape.recordHeadBytes + tape.fieldHeadBytes + 2 * depth;
  const memory = new SharedArrayBuffer(used);
  const bytes = Buffer.from(memory);
  bytes.writeUInt32LE(used, tape.headOffset.length);
  bytes[tape.headOffset.operation] = tape.operationCode.post;
  bytes[tape.recordHeadBytes] = tape.field.inputs;
  bytes.writeUInt32LE(2 * depth, tape.recordHeadBytes + 1);
  const start = tape.recordHeadBytes + tape.fieldHeadBytes;
  bytes.fill(tape.tag.array, start, start + depth).fill(tape.tag.end, start + depth);
  return new TapeReader(memory, used);
}

test("a part of a tape that is too large is left to TypeScript, and so is runtime information that is too long", () => {
  const records = manyRuns(3, { inputs: { text: "x".repeat(2_000_000) } });
  const { memory, usedBytes } = tapeOf(records);
  const reader = new TapeReader(memory, usedBytes);
  const [first, second] = joinRecords(reader);
  const out = new JsonWriter(Buffer.alloc(16));
  expect(wasm.begin(out, reader, joinRecords(reader))).toBe(false);
  expect(
    wasm.begin(
      out,
      reader,
      [first, second].filter((run) => run !== undefined),
    ),
  ).toBe(true);
  wasm.end();
  const { plain, fromModule } = bodiesOf(records);
  expect(fromModule).toBe(plain);
  expect(WasmJson.create(Buffer.alloc(100_000))).toBeUndefined();
});
