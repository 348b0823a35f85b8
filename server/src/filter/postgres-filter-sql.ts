import { encodeJsonTexts, encodeText } from "../storage/postgres/text-encoding.ts";
import type { FilterSql } from "./filter-sql.ts";
import type { Scalar } from "./operands.ts";
import { filterLimits } from "./parser.ts";
import { joinConditions, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/**
 * The SQL of PostgreSQL for filters. JSON is of type `jsonb`, with texts that are encoded (`text-encoding.ts`). Each
 * `?` is a parameter, so no operator with a question mark may be used.
 */
export const postgresFilterSql: FilterSql = {
  bind,
  createDifference: (column, value) => sql`${column} IS DISTINCT FROM ${bind(value)}`,
  createContains,
  createPattern,
  createAnyText: (list, condition) =>
    sql`EXISTS (SELECT 1 FROM (SELECT ${toTextSql("v.value")} AS atom
      FROM jsonb_array_elements(CASE jsonb_typeof(${list}) WHEN 'array' THEN ${list} END) v (value)
      WHERE jsonb_typeof(v.value) = 'string') e WHERE ${condition})`,
  createTextSearch: (json, text) =>
    sql`EXISTS (SELECT 1 FROM jsonb_path_query(${json}, 'strict $.**') t (value)
      WHERE jsonb_typeof(t.value) = 'string' AND ${createContains("(t.value #>> '{}')", text)})`,
  createEntry,
  createContainsObject: (object, expected) =>
    sql`${object} @> ${{ sql: "?::jsonb", values: [JSON.stringify(encodeJsonTexts(expected))] }}`,
  entryValue: createJsonValueSql("w.json"),
  toNumberText: (number) => `(${number})::double precision::text`,
};

/** SQL for the content of a JSON text. Texts are compared by code points, as on every engine. */
function toTextSql(json: string): string {
  return `(${json} #>> '{}') COLLATE "C"`;
}

/** SQL for the type and the content of a `jsonb` value. */
export function createJsonValueSql(json: string): FilterSql["entryValue"] {
  return {
    // The names are those of SQLite.
    type: `CASE jsonb_typeof(${json}) WHEN 'string' THEN 'text' WHEN 'number' THEN 'real' WHEN 'boolean' THEN ${json}::text ELSE jsonb_typeof(${json}) END`,
    atom: toTextSql(json),
    // NULL for a value of another type: a condition may be evaluated for any value, and must not fail.
    number: `run_number(${json})`,
  };
}

function bind(value: Scalar): Sql {
  if (value === null) {
    return { sql: "NULL", values: [] };
  }
  if (typeof value === "string") {
    return { sql: "?::text", values: [encodeText(value)] };
  }
  // For a comparison with a number of another type, PostgreSQL could not use an index.
  const type = Number.isSafeInteger(Number(value)) ? "bigint" : "double precision";
  return { sql: `?::${type}`, values: [Number(value)] };
}

/** SQL for a text in lower case. With the collation "C", only ASCII letters change. */
const toLowerSql = (text: string): string => `lower((${text}) COLLATE "C")`;

function createContains(text: string, part: string): Sql {
  return sql`strpos(${toLowerSql(text)}, ${{ sql: toLowerSql("?::text"), values: [encodeText(part)] }}) > 0`;
}

function createPattern(text: string, pattern: string): Sql {
  const simplePattern = /^(%?)([^%_]*)(%?)$/.exec(pattern);
  if (simplePattern === null) {
    return sql`(${text}) COLLATE "C" ~ ${{ sql: "?::text", values: [toRegularExpression(pattern)] }}`;
  }
  const [, leadingWildcard = "", middle = "", trailingWildcard = ""] = simplePattern;
  if (middle === "") {
    return leadingWildcard + trailingWildcard === ""
      ? sql`${text} = ''`
      : sql`(${text}) IS NOT NULL`;
  }
  const part = bind(middle);
  if (leadingWildcard !== "" && trailingWildcard !== "") {
    return sql`strpos(${text}, ${part}) > 0`;
  }
  if (trailingWildcard !== "") {
    return sql`starts_with(${text}, ${part})`;
  }
  return leadingWildcard === ""
    ? sql`${text} = ${part}`
    : sql`right(${text}, ${{ sql: "length(?::text)", values: [encodeText(middle)] }}) = ${part}`;
}

/** Translates the wildcards to a regular expression that matches a whole text, line breaks included. */
const toRegularExpression = (pattern: string): string =>
  `^(?:${encodeText(pattern)
    .replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
    .replaceAll("%", ".*")
    .replaceAll("_", ".")})$`;

function createEntry(object: string, condition: Sql, keys: readonly string[] | undefined): Sql {
  const pathCondition =
    keys === undefined
      ? sql`true`
      : joinConditions(
          keys.map((key) => sql`starts_with(${bind(`${key}.`)}, w.path || '.')`),
          "OR",
        );
  const { type } = createJsonValueSql("w.json");
  return sql`EXISTS (WITH RECURSIVE w (depth, path, json) AS (
    SELECT 1, e.key COLLATE "C", e.value
      FROM jsonb_each(CASE jsonb_typeof(${object}) WHEN 'object' THEN ${object} END) e
    UNION ALL
    SELECT w.depth + 1, (CASE WHEN c.key IS NULL THEN w.path ELSE w.path || '.' || c.key END) COLLATE "C", c.value
    FROM w CROSS JOIN LATERAL (
      SELECT e.key, e.value FROM jsonb_each(CASE jsonb_typeof(w.json) WHEN 'object' THEN w.json END) e
      UNION ALL
      SELECT NULL, i.value FROM jsonb_array_elements(CASE jsonb_typeof(w.json) WHEN 'array' THEN w.json END) i (value)
    ) c
    WHERE w.depth < ${String(filterLimits.entryDepth)} AND ${pathCondition}
  ) SELECT 1 FROM (SELECT w.path, w.json, ${type} AS type FROM w) w WHERE ${condition})`;
}
