import { sql } from "kysely";
import type { Expression } from "kysely";
import { createContainsObjectCondition, objectSql } from "../../filter/json-sql.ts";
import { toSearchTexts } from "../../runs/needles.ts";
import {
  containsIgnoringCase,
  fillPlaceholders,
  perEngine,
  toReadableJson,
  withinTimeLimit,
  withoutIndex,
} from "../../storage/dialect.ts";
import type { Parameters } from "../../storage/query.ts";
import { hasOneOfIds } from "./example-ids.ts";

/** The values of the conditions whose number does not vary. */
export interface ScopeValues {
  readonly tenantId: string;
  /** The current rows if omitted. */
  readonly moment?: number | undefined;
  readonly datasetId?: string | undefined;
  /** JSON list. */
  readonly ids?: string | undefined;
  /** JSON list of the JSON texts of names. */
  readonly splits?: string | undefined;
}

const [tenantId, datasetId, toMicros, metadata] = [
  sql.ref<string>("e.tenant_id"),
  sql.ref<string>("e.dataset_id"),
  sql.ref<number | null>("e.to_us"),
  sql.ref<string>("e.metadata"),
];

/** The conditions on the row `e` of an example that these values require. */
export function scopeConditions(values: Parameters<ScopeValues>): Expression<boolean>[] {
  const { moment, ids, splits } = values;
  const conditions: Expression<boolean>[] = [
    withinTimeLimit("e.key"),
    sql`${tenantId} = ${values.tenantId}`,
    // The current rows have an index.
    moment === undefined
      ? sql`${toMicros} IS NULL`
      : sql`e.from_us <= ${moment} AND (${toMicros} IS NULL OR ${toMicros} > ${moment})`,
  ];
  if (ids !== undefined) {
    conditions.push(hasOneOfIds(ids));
  }
  if (values.datasetId !== undefined) {
    // Ids select fewer rows than the index on the dataset, which may have millions.
    const column = ids === undefined ? datasetId : withoutIndex(datasetId);
    conditions.push(sql`${column} = ${values.datasetId}`);
  }
  if (splits !== undefined) {
    conditions.push(isInSplit(splits));
  }
  return conditions;
}

/** The splits of the row `e`, as the JSON text of a list; null if it has none. */
export const splitsColumn = perEngine<string | null>({
  sqlite: sql.raw(`(${objectSql("e.metadata")} -> '$.dataset_split')`),
  postgres: sql`(${toReadableJson(metadata)} -> 'dataset_split')::text`,
});

/**
 * SQLite searches for each name as JSON text in the list as JSON text, after a bracket or a comma; inside another name
 * its quotes would be escaped. JSON is compared because a name may contain characters that SQLite's text functions
 * can't handle.
 */
const isInSplit = (names: Expression<string>): Expression<boolean> =>
  perEngine<boolean>({
    sqlite: sql`EXISTS (SELECT 1 FROM json_each(${names}) n
      WHERE instr(${splitsColumn}, '[' || n.value) > 0 OR instr(${splitsColumn}, ',' || n.value) > 0)`,
    postgres: sql`EXISTS (SELECT 1 FROM jsonb_array_elements_text(${toReadableJson(names)}) n (value)
      WHERE ${toReadableJson(metadata)} -> 'dataset_split' @> ${toReadableJson(sql.ref("n.value"))})`,
  });

/** Whether the metadata of the row `e` has these entries; see `createContainsObjectCondition`. */
export function hasMetadata(expected: Readonly<Record<string, unknown>>): Expression<boolean> {
  const condition = createContainsObjectCondition(objectSql("e.metadata"), expected);
  const json = sql<string>`${JSON.stringify(expected)}`;
  return perEngine<boolean>({
    sqlite: fillPlaceholders(condition.sql, condition.values),
    postgres: sql`${toReadableJson(metadata)} @> ${toReadableJson(json)}`,
  });
}

/** Whether the inputs or the outputs of the row `e` contain a text; ASCII letters match in either case. */
export function hasText(text: string): Expression<boolean> {
  // The text is in lower case already, so SQLite need not convert it for each row.
  const { escaped } = toSearchTexts(text);
  const [inputs, outputs] = [sql.ref<string>("e.inputs"), sql.ref<string | null>("e.outputs")];
  return perEngine<boolean>({
    sqlite: sql`(instr(lower(${inputs}), ${escaped}) > 0 OR instr(lower(${outputs}), ${escaped}) > 0)`,
    postgres: sql`(${containsIgnoringCase(inputs, escaped)} OR ${containsIgnoringCase(outputs, escaped)})`,
  });
}
