import { measureNames } from "../run-measures.ts";

/**
 * What is counted of runs. Of runs from before these columns, `measured` is 0: theirs are read from
 * the payload. 1: the run has none, 2: it has some.
 */
export const runMeasureTables = `
  ${["measured INTEGER NOT NULL DEFAULT 0", ...measureNames.map((name) => `${name} REAL`)]
    .map((column) => `ALTER TABLE runs ADD COLUMN ${column};`)
    .join("\n  ")}
`;
