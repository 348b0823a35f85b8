import type { CheckedFilter } from "../../filter/checker.ts";
import { compileFilter } from "../../filter/compiler.ts";
import type { FilterSource } from "../../filter/compiler.ts";
import { objectSql } from "../../filter/json-sql.ts";
import type { Sql } from "../../filter/sql.ts";

/**
 * Compiles a filter over {@link exampleFields} into a condition on the row `e` of `examples`. To parse a filter from
 * a request, call `readFilter(exampleFields, "filter", text)`, which responds to errors in the filter with 422.
 */
export const compileExampleFilter = (filter: CheckedFilter): Sql =>
  compileFilter(filter, exampleSource("e"));

function exampleSource(example: string): FilterSource {
  const metadata = objectSql(`${example}.metadata`);
  const inputs = objectSql(`${example}.inputs`);
  const outputs = objectSql(`${example}.outputs`);
  const splits = `CASE json_type(${metadata}, '$.dataset_split') WHEN 'array' THEN ${metadata} -> '$.dataset_split' END`;
  return {
    columns: {
      id: `${example}.id`,
      source_run_id: `${example}.source_run_id`,
      created_at: `${example}.created_us`,
      modified_at: `${example}.from_us`,
    },
    conditions: {},
    lists: { split: splits, splits },
    objects: { metadata, inputs, outputs },
    searchedColumns: { texts: [], json: [inputs, outputs, metadata] },
  };
}
