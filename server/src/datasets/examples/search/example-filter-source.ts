import type { CheckedFilter } from "../../../filter/checker.ts";
import { compileFilter } from "../../../filter/compiler.ts";
import type { FilterSource } from "../../../filter/compiler.ts";
import { objectSql } from "../../../filter/json-sql.ts";
import { postgresFilterSql } from "../../../filter/postgres-filter-sql.ts";
import { sqliteFilterSql } from "../../../filter/sqlite-filter-sql.ts";
import type { Sql } from "../../../filter/sql.ts";
import type { EngineName } from "../../../storage/dialect.ts";

/**
 * Compiles a filter expression over the fields `exampleFields` into a condition on the row `e` of the table `examples`.
 */
export const compileExampleFilter = (filter: CheckedFilter, engine: EngineName): Sql =>
  compileFilter(filter, createExampleSource("e", engine));

function createExampleSource(rowName: string, engine: EngineName): FilterSource {
  const { language, toObject, toSplits } = engines[engine];
  const metadata = toObject(`${rowName}.metadata`);
  const inputs = toObject(`${rowName}.inputs`);
  const outputs = toObject(`${rowName}.outputs`);
  const splits = toSplits(metadata);
  return {
    language,
    columns: {
      id: `${rowName}.id`,
      source_run_id: `${rowName}.source_run_id`,
      created_at: `${rowName}.created_us`,
      modified_at: `${rowName}.from_us`,
    },
    conditions: {},
    lists: { split: splits, splits },
    objects: { metadata, inputs, outputs },
    searchedColumns: { texts: [], json: [inputs, outputs, metadata] },
  };
}

/** The SQL of each engine for the JSON object in a column, and for the list of splits in the metadata. */
const engines = {
  sqlite: {
    language: sqliteFilterSql,
    toObject: objectSql,
    toSplits: (metadata: string): string =>
      `CASE json_type(${metadata}, '$.dataset_split') WHEN 'array' THEN ${metadata} -> '$.dataset_split' END`,
  },
  postgres: {
    language: postgresFilterSql,
    toObject: (column: string): string =>
      `(CASE jsonb_typeof(readable_json(${column})) WHEN 'object' THEN readable_json(${column}) END)`,
    toSplits: (metadata: string): string => `(${metadata} -> 'dataset_split')`,
  },
} as const;
