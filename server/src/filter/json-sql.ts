import { bind, join, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** Levels of a JSON value that the search for entries goes down. */
const walkDepth = 64;

/** Whether one of the texts of a JSON list meets a condition on `e.atom`. `list`: SQL, NULL where there is none. */
export const hasText = (list: string, condition: Sql): Sql =>
  sql`EXISTS (SELECT 1 FROM json_each(${list}) e WHERE e.type = 'text' AND ${condition})`;

/** Whether any text within a JSON value holds another, ASCII letters in either case. */
export const containsText = (json: string, text: string): Sql =>
  sql`EXISTS (SELECT 1 FROM json_tree(${json}) t WHERE t.type = 'text' AND ${holds("t.atom", text)})`;

/** Whether a text holds another, ASCII letters in either case. */
export const holds = (text: string, part: string): Sql =>
  sql`instr(lower(${text}), lower(${bind(part)})) > 0`;

/**
 * Whether a JSON object has an entry that meets a condition on `w.path`, `w.type` and `w.atom`. Where
 * `keys` are given, only what leads to them is looked at. `object`: SQL, NULL where there is none.
 */
export function hasEntry(object: string, condition: Sql, keys: readonly string[] | undefined): Sql {
  const way =
    keys === undefined
      ? sql`1`
      : join(
          keys.map((key) => sql`instr(${bind(`${key}.`)}, w.path || '.') = 1`),
          "OR",
        );
  return sql`EXISTS (WITH RECURSIVE w (depth, path, type, atom, json) AS (
    SELECT 1, e.key, e.type, e.atom, e.value FROM json_each(${object}) e
    UNION ALL
    SELECT w.depth + 1, CASE w.type WHEN 'array' THEN w.path ELSE w.path || '.' || e.key END, e.type, e.atom, e.value
    FROM w, json_each(CASE WHEN w.type IN ('array', 'object') AND w.depth < ${String(walkDepth)} AND ${way} THEN w.json END) e
  ) SELECT 1 FROM w WHERE ${condition})`;
}

/** Whether a JSON object holds another: its members with equal values, further ones do not matter. */
export const containsObject = (object: string, wanted: Readonly<Record<string, unknown>>): Sql => {
  const members = Object.entries(wanted).map(([key, value]) =>
    hasMember(object, { key, value }, 1),
  );
  return join([sql`${object} IS NOT NULL`, ...members], "AND");
};

function hasMember(
  object: string,
  { key, value }: { readonly key: string; readonly value: unknown },
  depth: number,
): Sql {
  const e = `e${depth}`;
  return sql`EXISTS (SELECT 1 FROM json_each(${object}) ${e} WHERE ${e}.key = ${bind(key)} AND ${matches(e, value, depth)})`;
}

/** Whether a row of `json_each` is a value, or holds it. */
function matches(e: string, value: unknown, depth: number): Sql {
  if (typeof value === "string") {
    return sql`${e}.type = 'text' AND ${e}.atom = ${bind(value)}`;
  }
  if (typeof value === "number") {
    return sql`${e}.type IN ('integer', 'real') AND ${e}.atom = ${bind(value)}`;
  }
  if (typeof value === "boolean" || value === null || value === undefined) {
    return sql`${e}.type = '${String(value ?? null)}'`;
  }
  const type = Array.isArray(value) ? "array" : "object";
  const inner = `CASE ${e}.type WHEN '${type}' THEN ${e}.value END`;
  const isType = sql`${e}.type = '${type}'`;
  const below = `e${depth + 1}`;
  const parts = Array.isArray(value)
    ? value.map(
        (item: unknown) =>
          sql`EXISTS (SELECT 1 FROM json_each(${inner}) ${below} WHERE ${matches(below, item, depth + 1)})`,
      )
    : Object.entries(value).map(([key, item]) =>
        hasMember(inner, { key, value: item as unknown }, depth + 1),
      );
  return join([isType, ...parts], "AND");
}
