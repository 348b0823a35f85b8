import { filterLimits } from "./parser.ts";
import { bind, join, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/**
 * The object that a column of JSON holds; NULL where it holds none. SQLite reads JSON of up to 1,000
 * levels: a deeper text is passed over, since it would fail the query.
 */
export const objectIn = (column: string): string =>
  `(CASE WHEN json_valid(${column}) THEN CASE json_type(${column}) WHEN 'object' THEN ${column} END END)`;

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
 * Whether a JSON object has an entry that meets a condition on `w.path`, `w.type`, `w.atom` and `w.json`. With
 * `keys`, only the paths to them are read. `object`: SQL, NULL without an object.
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
    FROM w, json_each(CASE WHEN w.type IN ('array', 'object') AND w.depth < ${String(filterLimits.entryDepth)} AND ${way} THEN w.json END) e
  ) SELECT 1 FROM w WHERE ${condition})`;
}

/**
 * Whether a JSON object holds another: its members with equal values, further ones do not matter; of a
 * list each item in some place. Objects within objects make no deeper SQL, since SQLite's parser does
 * not go deep; objects within lists do, see `nestingOf`.
 */
export const containsObject = (object: string, wanted: Readonly<Record<string, unknown>>): Sql =>
  join([sql`${object} IS NOT NULL`, ...findIn({ object, keys: [], nesting: 1 }, wanted)], "AND");

/** A place within a JSON object: the keys that lead to it. */
interface JsonPosition {
  readonly object: string;
  readonly keys: readonly string[];
  /** How many times this is within an item of a list. */
  readonly nesting: number;
}

/** Conditions that together say that a value is, or is held, at a place. */
function findIn(place: JsonPosition, wanted: unknown): Sql[] {
  const row = `e${place.nesting}_${place.keys.length}`;
  if (Array.isArray(wanted) && wanted.length > 0) {
    const item = `i${place.nesting}`;
    const items = sql`json_each(CASE ${row}.type WHEN 'array' THEN ${row}.value END) ${item}`;
    return wanted.map((one: unknown) => isAt(place, matches(item, one, place.nesting), items));
  }
  if (isMap(wanted) && (Object.keys(wanted).length > 0 || place.keys.length === 0)) {
    return Object.entries(wanted).flatMap(([key, value]) =>
      findIn({ ...place, keys: [...place.keys, key] }, value),
    );
  }
  return [isAt(place, matches(row, wanted, place.nesting))];
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether there is a row at a place that meets a condition; `further`: what else is joined to it. */
function isAt({ object, keys, nesting }: JsonPosition, condition: Sql, further?: Sql): Sql {
  const rows = keys.map((_key, index) => {
    const above = `e${nesting}_${index}`;
    const source =
      index === 0 ? object : `CASE ${above}.type WHEN 'object' THEN ${above}.value END`;
    return `json_each(${source}) e${nesting}_${index + 1}`;
  });
  const steps = keys.map(
    (key, index) => sql`e${String(nesting)}_${String(index + 1)}.key = ${bind(key)}`,
  );
  const more = further === undefined ? sql`` : sql`, ${further}`;
  return sql`EXISTS (SELECT 1 FROM ${rows.join(", ")}${more} WHERE ${join([...steps, condition], "AND")})`;
}

/** Whether a row of `json_each` is a value, or holds it. */
function matches(row: string, value: unknown, nesting: number): Sql {
  if (typeof value === "string") {
    return sql`${row}.type = 'text' AND ${row}.atom = ${bind(value)}`;
  }
  if (typeof value === "number") {
    return sql`${row}.type IN ('integer', 'real') AND ${row}.atom = ${bind(value)}`;
  }
  if (Array.isArray(value)) {
    const item = `i${nesting + 1}`;
    const inner = `json_each(CASE ${row}.type WHEN 'array' THEN ${row}.value END) ${item}`;
    const items = value.map(
      (one: unknown) =>
        sql`EXISTS (SELECT 1 FROM ${inner} WHERE ${matches(item, one, nesting + 1)})`,
    );
    return join([sql`${row}.type = 'array'`, ...items], "AND");
  }
  if (isMap(value)) {
    const object = `CASE ${row}.type WHEN 'object' THEN ${row}.value END`;
    const members = findIn({ object, keys: [], nesting: nesting + 1 }, value);
    return join([sql`${row}.type = 'object'`, ...members], "AND");
  }
  // What is left of JSON: true, false, null.
  return sql`${row}.type = '${JSON.stringify(value ?? null)}'`;
}

/** How many lists stand within items of lists: so much deeper is the SQL that looks for a value. */
export function nestingOf(value: unknown): number {
  if (typeof value !== "object" || value === null) {
    return 0;
  }
  const below = Math.max(0, ...Object.values(value).map(nestingOf));
  return Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null)
    ? below + 1
    : below;
}
