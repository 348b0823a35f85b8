import * as fc from "fast-check";
import { expect, test } from "vitest";
import { splitCsvIntoLines, splitIntoLines } from "../../src/api/http/text-lines.ts";

async function linesIn(
  chunks: readonly Uint8Array[],
  split = splitIntoLines,
): Promise<readonly string[]> {
  async function* stream() {
    yield* chunks;
  }
  const lines: string[] = [];
  for await (const some of split(stream())) {
    lines.push(...some);
  }
  return lines;
}

test("a byte order mark is kept as an ordinary character", async () => {
  expect(await linesIn([Buffer.from("\ufeffa\nb")])).toEqual(["\ufeffa", "b"]);
});

test("lines are the same however their bytes are split", async () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll(/[\r\n]/g, ""));
  const ends = fc.constantFrom("\n", "\r\n");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(line, ends)),
      line,
      fc.array(fc.nat({ max: 60 })),
      async (full, last, cuts) => {
        const bytes = Buffer.from(full.map(([text, end]) => text + end).join("") + last);
        const places = [0, ...cuts.toSorted((left, right) => left - right), bytes.length];
        const chunks = places.slice(1).map((end, n) => bytes.subarray(places[n], end));
        const expected = [...full.map(([text]) => text), last].filter((text) => text !== "");
        expect(await linesIn(chunks)).toEqual(expected);
      },
    ),
  );
});

test("the lines of CSV give its cells back, however its bytes are split", async () => {
  const cell = fc
    .string({ unit: fc.constantFrom("a", "é", '"', ",", "\r", "\n") })
    .map((text) => `"${text.replaceAll('"', '""')}"`);
  const row = fc.array(cell, { minLength: 1, maxLength: 3 }).map((cells) => cells.join(","));
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1 }),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      fc.array(fc.nat({ max: 60 })),
      async (rows, rowEnd, endsWithLineBreak, cuts) => {
        const bytes = Buffer.from(rows.join(rowEnd) + (endsWithLineBreak ? rowEnd : ""));
        const positions = [0, ...cuts.toSorted((left, right) => left - right), bytes.length];
        const chunks = positions.slice(1).map((end, n) => bytes.subarray(positions[n], end));
        const lines = await linesIn(chunks, splitCsvIntoLines);
        expect(lines.join("\n")).toBe(rows.join("\n"));
      },
    ),
  );
});

test("an empty last cell of CSV is kept, and no line follows the last line break", async () => {
  expect(await linesIn([Buffer.from("a\n\n")], splitCsvIntoLines)).toEqual(["a", ""]);
  expect(await linesIn([], splitCsvIntoLines)).toEqual([]);
});
