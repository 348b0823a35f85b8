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
  string as textsOf,
  tuple,
} from "fast-check";
import { expect, test } from "vitest";
import { JsonLimitError, parseJson } from "../../src/api/http/parse-json.ts";
import type { ParseJsonOptions } from "../../src/api/http/parse-json.ts";

/** Chunks of a few bytes, so that characters are cut. */
const chunksOf = (bytes: Buffer, size: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );

const parse = (text: string | Buffer, options: ParseJsonOptions = {}): Promise<unknown> =>
  parseJson(chunksOf(Buffer.from(text), 7), { atOnceBytes: 0, ...options });

/** A value and its JSON, with blanks and escapes that `JSON.stringify` does not write. */
const texts = oneof(
  json({ maxDepth: 6, depthSize: "large" }),
  json({ maxDepth: 6, depthSize: "large" }).map((text) =>
    JSON.stringify(JSON.parse(text), null, " \t\n\r"),
  ),
  textsOf({ unit: "binary", maxLength: 400 }).map((text) =>
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

const pieceSizes = constantFrom(1, 2, 5, 13, 64);

test("makes of JSON what JSON.parse makes of it, wherever it is cut", async () => {
  await assertProperty(
    asyncProperty(texts, pieceSizes, async (text, pieceBytes) => {
      const expected: unknown = JSON.parse(Buffer.from(text).toString());
      const made = await parse(text, { pieceBytes });
      // Not by toEqual: it takes a member named constructor or __proto__ for the object's class.
      expect(isDeepStrictEqual(made, expected)).toBe(true);
      // The order of members too.
      expect(JSON.stringify(made)).toBe(JSON.stringify(expected));
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
const hurt = tuple(texts, nat(), fragments, boolean()).map(([text, at, fragment, isInserted]) => {
  const cut = at % (text.length + 1);
  return text.slice(0, cut) + fragment + text.slice(isInserted ? cut : cut + 1);
});

const refused = Symbol("refused");

function syntaxErrorOf(error: unknown): typeof refused {
  if (error instanceof SyntaxError) {
    return refused;
  }
  throw error;
}

function parsedAtOnce(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    return syntaxErrorOf(error);
  }
}

test("takes what JSON.parse takes, and nothing else", async () => {
  const broken = oneof(
    hurt,
    array(fragments, { maxLength: 12 }).map((parts) => parts.join("")),
  );
  await assertProperty(
    asyncProperty(broken, pieceSizes, async (text, pieceBytes) => {
      const bytes = Buffer.from(text);
      const made = await parse(bytes, { pieceBytes }).catch(syntaxErrorOf);
      expect(isDeepStrictEqual(made, parsedAtOnce(bytes))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("reads bytes that are no UTF-8 as Buffer does", async () => {
  const bytes = array(constantFrom(0x61, 0x80, 0xc3, 0xa9, 0xe2, 0xf0, 0xff), {
    maxLength: 120,
  });
  await assertProperty(
    asyncProperty(bytes, pieceSizes, async (content, pieceBytes) => {
      const text = Buffer.from(content);
      const bracketed = Buffer.concat([Buffer.from('[1,"'), text, Buffer.from('",2]')]);
      expect(await parse(bracketed, { pieceBytes })).toEqual([1, text.toString(), 2]);
    }),
    { numRuns: 300 },
  );
});

test("leaves out a byte order mark", async () => {
  expect(await parse("\uFEFF[1]")).toEqual([1]);
  expect(await parseJson([Buffer.from("\uFEFF[1]")])).toEqual([1]);
});

const bounds = { values: 100, depth: 20, members: 10 };

test.each([
  ["more than 100 values", JSON.stringify(Array.from({ length: 101 }, () => 1))],
  ["more than 20 lists and objects in one another", `${"[".repeat(21)}${"]".repeat(21)}`],
  [
    "an object of more than 10 members",
    JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`member ${n}`, n]))),
  ],
])("refuses an answer that holds %s", async (what, text) => {
  const answer = parse(text, { pieceBytes: 8, bounds });
  await expect(answer).rejects.toThrow(JsonLimitError);
  await expect(answer).rejects.toThrow(what);
});

test("refuses a number that can't be taken apart and is longer than 4 MiB", async () => {
  const long = `[1,${"1".repeat(4_194_305)}]`;
  await expect(parseJson([Buffer.from(long)])).rejects.toThrow(JsonLimitError);
});

test("ends at the signal", async () => {
  const ended = AbortSignal.abort(new Error("enough"));
  const parts = Array.from({ length: 300 }, () => Buffer.from(`"${"x".repeat(100_000)}",`));
  const chunks = [Buffer.from("["), ...parts, Buffer.from("1]")];
  await expect(parseJson(chunks, { signal: ended })).rejects.toThrow("enough");
});
