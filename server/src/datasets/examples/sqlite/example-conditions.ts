import { containsObject, objectIn } from "../../../filter/json-sql.ts";
import { bind, join, sql } from "../../../filter/sql.ts";
import type { Sql } from "../../../filter/sql.ts";
import type { Moment } from "../../dataset-version.ts";
import type { ExampleFilter } from "../example.ts";
import { toNeedles } from "../../../runs/needles.ts";
import { withinDeadline } from "../../../storage/sqlite/query-clock.ts";
import { keysOfIds } from "./example-places.ts";

/** The `WHERE` of a filter over rows `e`. Values are bound, never written into the text. */
export function toExampleConditions(tenantId: string, filter: ExampleFilter): Sql {
  const { datasetId, moment, ids, splits, metadata, texts = [], condition } = filter;
  const parts = [
    sql`${withinDeadline("e.key")}`,
    sql`e.tenant_id = ${bind(tenantId)}`,
    isSoAt(moment),
  ];
  if (ids !== undefined) {
    parts.push(hasId(ids));
  }
  if (datasetId !== undefined) {
    // Where ids are named, they lead: not the dataset, which may have millions.
    parts.push(sql`${ids === undefined ? "" : "+"}e.dataset_id = ${bind(datasetId)}`);
  }
  if (splits !== undefined) {
    parts.push(isInSplit(splits));
  }
  if (metadata !== undefined) {
    parts.push(containsObject(objectIn("e.metadata"), metadata));
  }
  parts.push(...texts.map(hasText), ...(condition === undefined ? [] : [condition]));
  return join(parts, "AND");
}

function hasId(ids: readonly string[]): Sql {
  const list = JSON.stringify(ids);
  const keys: Sql = { sql: keysOfIds("?"), values: [list, list] };
  return sql`e.key IN (${keys}) AND e.id IN (SELECT value FROM json_each(${bind(list)}))`;
}

/** What was so at a time; the rows that are so now have an index of their own. */
const isSoAt = (moment: Moment): Sql =>
  moment === null
    ? sql`e.to_us IS NULL`
    : sql`e.from_us <= ${bind(moment)} AND (e.to_us IS NULL OR e.to_us > ${bind(moment)})`;

/** The splits of the row `e`, as the JSON text of a list; NULL where it names none. */
export const splitList = `(${objectIn("e.metadata")} -> '$.dataset_split')`;

/**
 * Looks for each name as JSON in the list as JSON, behind a bracket or a comma: inside of another name
 * its quotes would be escaped. A name may hold what SQLite's texts can't, and the names may be many.
 */
function isInSplit(names: readonly string[]): Sql {
  const texts = JSON.stringify(names.map((name) => JSON.stringify(name)));
  return sql`EXISTS (SELECT 1 FROM json_each(${bind(texts)}) n
    WHERE instr(${splitList}, '[' || n.value) > 0 OR instr(${splitList}, ',' || n.value) > 0)`;
}

function hasText(text: string): Sql {
  const { escaped } = toNeedles(text);
  return sql`(instr(lower(e.inputs), ${bind(escaped)}) > 0 OR instr(lower(e.outputs), ${bind(escaped)}) > 0)`;
}
