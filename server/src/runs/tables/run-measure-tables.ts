import { measureNames } from "../usage/measures.ts";
import type { MeasureName } from "../usage/measures.ts";

/**
 * SQL that adds the columns for the measures of runs. `measured` is 0 for rows that are older than these columns,
 * whose measures are read from the payload; 1 if the run has no measures; 2 if it has measures.
 */
export const runMeasureTables = `
  ${["measured INTEGER NOT NULL DEFAULT 0", ...measureNames.map((name) => `${name} REAL`)]
    .map((column) => `ALTER TABLE runs ADD COLUMN ${column};`)
    .join("\n  ")}
`;

/** The indexes that find runs by a measure. They contain only runs that have the measure: few runs call a model. */
export const measureIndexes = {
  total_tokens: "runs_by_tokens",
  total_cost: "runs_by_cost",
} as const satisfies Partial<Record<MeasureName, string>>;

export type IndexedMeasure = keyof typeof measureIndexes;

export const indexedMeasures = Object.keys(measureIndexes) as readonly IndexedMeasure[];

/** SQL that creates {@link measureIndexes}, for both engines. */
export const createMeasureIndexes = indexedMeasures
  .map(
    (name) =>
      `CREATE INDEX ${measureIndexes[name]} ON runs (project_id, ${name}) WHERE ${name} IS NOT NULL;`,
  )
  .join("\n  ");

/**
 * SQL that creates the indexes in a SQLite database. A lookup by a measure must also read the runs whose measures are
 * only in their payloads. `runs_unread` finds these runs.
 */
export const sqliteMeasureIndexes = `
  ${createMeasureIndexes}
  CREATE INDEX runs_unread ON runs (project_id) WHERE measured = 0;
`;
