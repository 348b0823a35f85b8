import type { CheckedFilter } from "../../filter/checker.ts";
import { compileFilter } from "../../filter/compiler.ts";
import type { FilterSource } from "../../filter/compiler.ts";
import { objectSql } from "../../filter/json-sql.ts";
import { sqliteFilterSql } from "../../filter/sqlite-filter-sql.ts";
import type { Sql } from "../../filter/sql.ts";

/**
 * Compiles a filter expression over the fields `exampleFields` into a condition on the row `e` of the table `examples`.
 */
export const compileExampleFilter = (filter: CheckedFilter): Sql =>
  compileFilter(filter, createExampleSource("e"));

function createExampleSource(rowName: string): FilterSource {
  const metadata = objectSql(`${rowName}.metadata`);
  const inputs = objectSql(`${rowName}.inputs`);
  const outputs = objectSql(`${rowName}.outputs`);
  const splits = `CASE json_type(${metadata}, '$.dataset_split') WHEN 'array' THEN ${metadata} -> '$.dataset_split' END`;
  return {
    language: sqliteFilterSql,
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
