import { measureNames } from "../usage/measures.ts";

/**
 * SQL that adds the columns for the measures of runs. `measured` is 0 for rows that are older than these columns,
 * whose measures are read from the payload; 1 if the run has no measures; 2 if it has measures.
 */
export const runMeasureTables = `
  ${["measured INTEGER NOT NULL DEFAULT 0", ...measureNames.map((name) => `${name} REAL`)]
    .map((column) => `ALTER TABLE runs ADD COLUMN ${column};`)
    .join("\n  ")}
`;
