import { isDeepStrictEqual } from "node:util";
import {
  array,
  assert as assertProperty,
  asyncProperty,
  boolean,
  constantFrom,
  json,
  nat,
  oneof,
  string as strings,
  tuple,
} from "fast-check";
import { expect, test } from "vitest";
import { JsonLimitError, parseJson } from "../../src/api/http/parse-json.ts";
import type { ParseJsonOptions } from "../../src/api/http/parse-json.ts";

/** Splits bytes into chunks of a few bytes, so that UTF-8 characters are split too. */
const chunksOf = (bytes: Buffer, size: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );

const parse = (text: string | Buffer, options: ParseJsonOptions = {}): Promise<unknown> =>
  parseJson(chunksOf(Buffer.from(text), 7), { unsplitBytes: 0, ...options });

/** JSON texts, including whitespace and escapes that `JSON.stringify` does not write. */
const jsonTexts = oneof(
  json({ maxDepth: 6, depthSize: "large" }),
  json({ maxDepth: 6, depthSize: "large" }).map((text) =>
    JSON.stringify(JSON.parse(text), null, " \t\n\r"),
  ),
  strings({ unit: "binary", maxLength: 400 }).map((text) =>
    JSON.stringify([text, { [text]: text }]),
  ),
  array(
    constantFrom("\\u0041", "\\n", '\\"', "\\\\", "é", "😀", "\\ud83d\\ude00", "\\ud83d", "a"),
    {
      maxLength: 200,
    },
  ).map((parts) => `{"a":["${parts.join("")}"],"${parts.join("")}":1,"b":"${parts.join("")}"}`),
  array(tuple(constantFrom("a", "1", "__proto__", "constructor", "\\u0061"), json())).map(
    (members) => `{${members.map(([name, value]) => `"${name}" : ${value}`).join(" ,")}}`,
  ),
);

const segmentSizes = constantFrom(1, 2, 5, 13, 64);

test("parses JSON to the same value as JSON.parse, wherever it is split", async () => {
  await assertProperty(
    asyncProperty(jsonTexts, segmentSizes, async (text, segmentBytes) => {
      const expected: unknown = JSON.parse(Buffer.from(text).toString());
      const parsed = await parse(text, { segmentBytes });
      // `toEqual` would take a member named `constructor` or `__proto__` for the object's class.
      expect(isDeepStrictEqual(parsed, expected)).toBe(true);
      // Compares the order of members too.
      expect(JSON.stringify(parsed)).toBe(JSON.stringify(expected));
    }),
    { numRuns: 600 },
  );
});

const fragments = constantFrom(
  "[",
  "]",
  "{",
  "}",
  ",",
  ":",
  '"a"',
  '"a":',
  '"',
  "1",
  "-",
  "null",
  " ",
  "[]",
  "{}",
  "tru",
  '"\u0001"',
);
const damagedTexts = tuple(jsonTexts, nat(), fragments, boolean()).map(
  ([text, position, fragment, isInserted]) => {
    const cut = position % (text.length + 1);
    return text.slice(0, cut) + fragment + text.slice(isInserted ? cut : cut + 1);
  },
);

const rejected = Symbol("rejected");

function syntaxErrorOf(error: unknown): typeof rejected {
  if (error instanceof SyntaxError) {
    return rejected;
  }
  throw error;
}

function parseUnsplit(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    return syntaxErrorOf(error);
  }
}

test("accepts exactly the texts that JSON.parse accepts", async () => {
  const broken = oneof(
    damagedTexts,
    array(fragments, { maxLength: 12 }).map((parts) => parts.join("")),
  );
  await assertProperty(
    asyncProperty(broken, segmentSizes, async (text, segmentBytes) => {
      const bytes = Buffer.from(text);
      const parsed = await parse(bytes, { segmentBytes }).catch(syntaxErrorOf);
      expect(isDeepStrictEqual(parsed, parseUnsplit(bytes))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("decodes invalid UTF-8 as Buffer does", async () => {
  const bytes = array(constantFrom(0x61, 0x80, 0xc3, 0xa9, 0xe2, 0xf0, 0xff), {
    maxLength: 120,
  });
  await assertProperty(
    asyncProperty(bytes, segmentSizes, async (content, segmentBytes) => {
      const text = Buffer.from(content);
      const bracketed = Buffer.concat([Buffer.from('[1,"'), text, Buffer.from('",2]')]);
      expect(await parse(bracketed, { segmentBytes })).toEqual([1, text.toString(), 2]);
    }),
    { numRuns: 300 },
  );
});

test("ignores a byte order mark", async () => {
  expect(await parse("\uFEFF[1]")).toEqual([1]);
  expect(await parseJson([Buffer.from("\uFEFF[1]")])).toEqual([1]);
});

const bounds = { values: 100, depth: 20, members: 10 };

test.each([
  ["more than 100 values", JSON.stringify(Array.from({ length: 101 }, () => 1))],
  ["lists and objects nested more than 20 deep", `${"[".repeat(21)}${"]".repeat(21)}`],
  [
    "an object of more than 10 members",
    JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`member ${n}`, n]))),
  ],
])("refuses a response that contains %s", async (what, text) => {
  const parsing = parse(text, { segmentBytes: 8, bounds });
  await expect(parsing).rejects.toThrow(JsonLimitError);
  await expect(parsing).rejects.toThrow(what);
});

test("refuses a number of more than 4 MiB, which can't be split", async () => {
  const long = `[1,${"1".repeat(4_194_305)}]`;
  await expect(parseJson([Buffer.from(long)])).rejects.toThrow(JsonLimitError);
});

test("stops when the signal is aborted", async () => {
  const aborted = AbortSignal.abort(new Error("enough"));
  const parts = Array.from({ length: 300 }, () => Buffer.from(`"${"x".repeat(100_000)}",`));
  const chunks = [Buffer.from("["), ...parts, Buffer.from("1]")];
  await expect(parseJson(chunks, { signal: aborted })).rejects.toThrow("enough");
});
