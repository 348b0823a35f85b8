import { escapeFormula, unescapeFormula } from "millrace/model";
import { expect, test } from "vitest";

test.each(["=1+1", "+cmd", "-2+3", "@sum", "\tx", "\rx", "'=1", "''@x"])(
  "the cell %j is no formula to a spreadsheet, and reads back as it was",
  (cell) => {
    const escaped = escapeFormula(cell);
    expect(escaped).toBe(`'${cell}`);
    expect(unescapeFormula(escaped)).toBe(cell);
  },
);

test.each(["", "a=1", "'", "'s", "it's", "-5", "-0.5e-3", "12", "{}"])(
  "the cell %j stays as it is, both ways",
  (cell) => {
    expect(escapeFormula(cell)).toBe(cell);
    expect(unescapeFormula(cell)).toBe(cell);
  },
);
