import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CsvReader } from "../../../../src/features/datasets/import/csv-records.ts";

const readAll = (pieces: readonly string[]) => {
  const reader = new CsvReader();
  return [...pieces.flatMap((piece) => reader.read(piece)), ...reader.end()];
};

test("quotes hold commas, line ends and themselves doubled; lines are counted through them", () => {
  expect(readAll(['a,b\r\n"1,\n2","say ""so"""\r\n\nlast,'])).toEqual([
    { line: 1, cells: ["a", "b"] },
    { line: 2, cells: ["1,\n2", 'say "so"'] },
    { line: 5, cells: ["last", ""] },
  ]);
});

test("a quote that is open until the end is a fault that names its line", () => {
  expect(() => readAll(['a,b\n1,"open\n2,3\n'])).toThrow("line 2: a quote is not closed");
});

test("text behind a closing quote is a fault of its record alone", () => {
  const [, broken, whole] = readAll(['a,b\n"1" x","2"\n3,4\n']);
  expect(broken?.fault).toContain("quoted field");
  expect(whole).toEqual({ line: 3, cells: ["3", "4"] });
});

test("whatever the cells hold and wherever the text is cut, they come back", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", "é", " ") });
  const row = fc.array(cell, { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), fc.array(fc.nat(200)), (rows, cuts) => {
      const text = rows
        .map((cells) => cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(","))
        .join("\r\n");
      const ends = [
        ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b),
        text.length,
      ];
      const pieces = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
      expect(readAll(pieces).map(({ cells }) => cells)).toEqual(rows);
    }),
  );
});
