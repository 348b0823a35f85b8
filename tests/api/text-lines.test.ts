import * as fc from "fast-check";
import { expect, test } from "vitest";
import { splitIntoLines } from "../../src/api/http/text-lines.ts";

async function linesIn(chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  async function* stream() {
    yield* chunks;
  }
  const lines: string[] = [];
  for await (const some of splitIntoLines(stream())) {
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
