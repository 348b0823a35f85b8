import { createContainsObjectCondition, objectSql } from "../../../filter/json-sql.ts";
import { bind, joinConditions, sql } from "../../../filter/sql.ts";
import type { Sql } from "../../../filter/sql.ts";
import type { Moment } from "../../dataset-version.ts";
import type { ExampleFilter } from "../example.ts";
import { toSearchTexts } from "../../../runs/needles.ts";
import { withinDeadline } from "../../../storage/sqlite/query-clock.ts";
import { keysOfIds } from "./example-places.ts";

/** The `WHERE` condition of a filter over rows `e`. Values are bound, never written into the SQL text. */
export function toExampleConditions(tenantId: string, filter: ExampleFilter): Sql {
  const { datasetId, moment, ids, splits, metadata, texts = [], condition } = filter;
  const parts = [
    sql`${withinDeadline("e.key")}`,
    sql`e.tenant_id = ${bind(tenantId)}`,
    isValidAt(moment),
  ];
  if (ids !== undefined) {
    parts.push(hasId(ids));
  }
  if (datasetId !== undefined) {
    // The unary plus keeps SQLite from using the index on the dataset, which may have millions of rows, where ids
    // select fewer.
    parts.push(sql`${ids === undefined ? "" : "+"}e.dataset_id = ${bind(datasetId)}`);
  }
  if (splits !== undefined) {
    parts.push(isInSplit(splits));
  }
  if (metadata !== undefined) {
    parts.push(createContainsObjectCondition(objectSql("e.metadata"), metadata));
  }
  parts.push(...texts.map(hasText), ...(condition === undefined ? [] : [condition]));
  return joinConditions(parts, "AND");
}

function hasId(ids: readonly string[]): Sql {
  const list = JSON.stringify(ids);
  const keys: Sql = { sql: keysOfIds("?"), values: [list, list] };
  return sql`e.key IN (${keys}) AND e.id IN (SELECT value FROM json_each(${bind(list)}))`;
}

/** Rows that are valid at a time; the currently valid rows have an index. */
const isValidAt = (moment: Moment): Sql =>
  moment === null
    ? sql`e.to_us IS NULL`
    : sql`e.from_us <= ${bind(moment)} AND (e.to_us IS NULL OR e.to_us > ${bind(moment)})`;

/** The splits of the row `e`, as the JSON text of a list; NULL if it has none. */
export const splitsSql = `(${objectSql("e.metadata")} -> '$.dataset_split')`;

/**
 * Searches for each name as JSON text in the list as JSON text, after a bracket or a comma; inside another name its
 * quotes would be escaped. JSON is compared because a name may contain characters that SQLite's text functions can't
 * handle.
 */
function isInSplit(names: readonly string[]): Sql {
  const texts = JSON.stringify(names.map((name) => JSON.stringify(name)));
  return sql`EXISTS (SELECT 1 FROM json_each(${bind(texts)}) n
    WHERE instr(${splitsSql}, '[' || n.value) > 0 OR instr(${splitsSql}, ',' || n.value) > 0)`;
}

function hasText(text: string): Sql {
  const { escaped } = toSearchTexts(text);
  return sql`(instr(lower(e.inputs), ${bind(escaped)}) > 0 OR instr(lower(e.outputs), ${bind(escaped)}) > 0)`;
}
