import { sql } from "kysely";
import type { Expression } from "kysely";
import { createContainsObjectCondition, objectSql } from "../../filter/json-sql.ts";
import { toSearchTexts } from "../../runs/search-texts.ts";
import {
  containsIgnoringCase,
  fillPlaceholders,
  perEngine,
  toReadableJson,
  isWithinTimeLimit,
  withoutIndex,
} from "../../storage/dialect.ts";
import type { Parameters } from "../../storage/query.ts";
import { hasOneOfIds } from "./example-ids.ts";

/**
 * The values of the conditions that select examples. A query contains each of these conditions at most once, so a query
 * that is built once can run again with other values.
 */
export interface ScopeValues {
  readonly tenantId: string;
  /** Time of the version to read; the newest version if omitted. */
  readonly versionTime?: number | undefined;
  readonly datasetId?: string | undefined;
  /** JSON list of ids. */
  readonly ids?: string | undefined;
  /** JSON list of the names of splits. Each item is a string that contains the JSON text of a name. */
  readonly splits?: string | undefined;
}

const [tenantIdColumn, datasetIdColumn, endMicrosColumn, metadataColumn] = [
  sql.ref<string>("e.tenant_id"),
  sql.ref<string>("e.dataset_id"),
  sql.ref<number | null>("e.to_us"),
  sql.ref<string>("e.metadata"),
];

/** Creates the conditions that the row `e` of an example must meet to be selected with these values. */
export function createScopeConditions(values: Parameters<ScopeValues>): Expression<boolean>[] {
  const { versionTime, ids, splits } = values;
  const conditions: Expression<boolean>[] = [
    isWithinTimeLimit("e.key"),
    sql`${tenantIdColumn} = ${values.tenantId}`,
    // SQLite uses its index on the rows of the newest version only if the query contains exactly this condition.
    versionTime === undefined
      ? sql`${endMicrosColumn} IS NULL`
      : sql`e.from_us <= ${versionTime} AND (${endMicrosColumn} IS NULL OR ${endMicrosColumn} > ${versionTime})`,
  ];
  if (ids !== undefined) {
    conditions.push(hasOneOfIds(ids));
  }
  if (values.datasetId !== undefined) {
    // The index on ids selects fewer rows than the index on the dataset, which may contain millions of examples.
    const column = ids === undefined ? datasetIdColumn : withoutIndex(datasetIdColumn);
    conditions.push(sql`${column} = ${values.datasetId}`);
  }
  if (splits !== undefined) {
    conditions.push(isInSplit(splits));
  }
  return conditions;
}

/** SQL for the splits of the row `e`, as the JSON text of a list; null if the row has no splits. */
export const splitsColumn = perEngine<string | null>({
  sqlite: sql.raw(`(${objectSql("e.metadata")} -> '$.dataset_split')`),
  postgres: sql`(${toReadableJson(metadataColumn)} -> 'dataset_split')::text`,
});

/**
 * Whether the row `e` is in one of the splits. For SQLite, the JSON text of a name is searched for in the JSON text of
 * the list of splits, after a bracket or a comma. The text can't match inside another name, because quotes inside a
 * name are escaped. JSON is compared because SQLite's text functions can't handle some characters that a name may
 * contain.
 */
const isInSplit = (names: Expression<string>): Expression<boolean> =>
  perEngine<boolean>({
    sqlite: sql`EXISTS (SELECT 1 FROM json_each(${names}) n
      WHERE instr(${splitsColumn}, '[' || n.value) > 0 OR instr(${splitsColumn}, ',' || n.value) > 0)`,
    postgres: sql`EXISTS (SELECT 1 FROM jsonb_array_elements_text(${toReadableJson(names)}) n (value)
      WHERE ${toReadableJson(metadataColumn)} -> 'dataset_split' @> ${toReadableJson(sql.ref("n.value"))})`,
  });

/** Whether the metadata of the row `e` contains these members; see `createContainsObjectCondition`. */
export function hasMetadata(expected: Readonly<Record<string, unknown>>): Expression<boolean> {
  const condition = createContainsObjectCondition(objectSql("e.metadata"), expected);
  const json = sql<string>`${JSON.stringify(expected)}`;
  return perEngine<boolean>({
    sqlite: fillPlaceholders(condition.sql, condition.values),
    postgres: sql`${toReadableJson(metadataColumn)} @> ${toReadableJson(json)}`,
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
