import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CsvReader } from "../../../../src/features/datasets/import/csv-records.ts";

const readAll = (chunks: readonly string[]) => {
  const reader = new CsvReader();
  return [...chunks.flatMap((chunk) => reader.read(chunk)), ...reader.finish()];
};

test("quoted cells may contain commas, line ends and doubled quotes, and their lines are counted", () => {
  expect(readAll(['a,b\r\n"1,\n2","say ""so"""\r\n\nlast,'])).toEqual([
    { line: 1, cells: ["a", "b"] },
    { line: 2, cells: ["1,\n2", 'say "so"'] },
    { line: 5, cells: ["last", ""] },
  ]);
});

test("an unclosed quote is an error with its line number", () => {
  expect(() => readAll(['a,b\n1,"open\n2,3\n'])).toThrow("line 2: a quote is not closed");
});

test("text after a closing quote is an error only of its record", () => {
  const [, broken, whole] = readAll(['a,b\n"1" x","2"\n3,4\n']);
  expect(broken?.fault).toContain("quoted field");
  expect(whole).toEqual({ line: 3, cells: ["3", "4"] });
});

test("any cells are parsed back, however the text is split into chunks", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", "é", " ") });
  const row = fc.array(cell, { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), fc.array(fc.nat(200)), (rows, cuts) => {
      const text = rows
        .map((cells) => cells.map((value) => `"${value.replaceAll('"', '""')}"`).join(","))
        .join("\r\n");
      const ends = [
        ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b),
        text.length,
      ];
      const chunks = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
      expect(readAll(chunks).map(({ cells }) => cells)).toEqual(rows);
    }),
  );
});
