import { filterLimits } from "./parser.ts";
import { bind, joinConditions, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/**
 * SQL for the object in a column of JSON; NULL if the column contains no object. SQLite parses JSON of up to 1,000
 * levels. For deeper JSON the result is NULL, because parsing it would make the query fail.
 */
export const objectSql = (column: string): string =>
  `(CASE WHEN json_valid(${column}) THEN CASE json_type(${column}) WHEN 'object' THEN ${column} END END)`;

/**
 * Creates the condition that one of the texts of a JSON list meets a condition on `e.atom`. `list` is an SQL
 * expression, whose value is NULL if there is no list.
 */
export const createAnyTextCondition = (list: string, condition: Sql): Sql =>
  sql`EXISTS (SELECT 1 FROM json_each(${list}) e WHERE e.type = 'text' AND ${condition})`;

/**
 * Creates the condition that any text within a JSON value contains another text, ignoring the case of ASCII letters.
 */
export const createTextSearchCondition = (json: string, text: string): Sql =>
  sql`EXISTS (SELECT 1 FROM json_tree(${json}) t WHERE t.type = 'text' AND ${createContainsCondition("t.atom", text)})`;

/** Creates the condition that a text contains another text, ignoring the case of ASCII letters. */
export const createContainsCondition = (text: string, part: string): Sql =>
  sql`instr(lower(${text}), lower(${bind(part)})) > 0`;

/**
 * Creates the condition that a JSON object has an entry that meets a condition on `w.path`, `w.type`, `w.atom` and
 * `w.json`. If `keys` is set, only the paths to these keys are read. `object` is an SQL expression, whose value is NULL
 * if there is no object.
 */
export function createEntryCondition(
  object: string,
  condition: Sql,
  keys: readonly string[] | undefined,
): Sql {
  const pathCondition =
    keys === undefined
      ? sql`1`
      : joinConditions(
          keys.map((key) => sql`instr(${bind(`${key}.`)}, w.path || '.') = 1`),
          "OR",
        );
  return sql`EXISTS (WITH RECURSIVE w (depth, path, type, atom, json) AS (
    SELECT 1, e.key, e.type, e.atom, e.value FROM json_each(${object}) e
    UNION ALL
    SELECT w.depth + 1, CASE w.type WHEN 'array' THEN w.path ELSE w.path || '.' || e.key END, e.type, e.atom, e.value
    FROM w, json_each(CASE WHEN w.type IN ('array', 'object') AND w.depth < ${String(filterLimits.entryDepth)} AND ${pathCondition} THEN w.json END) e
  ) SELECT 1 FROM w WHERE ${condition})`;
}

/**
 * Creates the condition that a JSON object contains another one, that is, has all of its members with equal values.
 * Items of a list may be at any index. SQLite's parser allows little nesting, so nested objects become conditions at
 * the same level. Only lists and objects within lists add a level; see `measureListNesting`.
 */
export const createContainsObjectCondition = (
  object: string,
  expected: Readonly<Record<string, unknown>>,
): Sql =>
  joinConditions(
    [sql`${object} IS NOT NULL`, ...createConditionsAt({ object, keys: [], nesting: 1 }, expected)],
    "AND",
  );

/** A position within a JSON object: the keys on the path to it. */
interface JsonPosition {
  readonly object: string;
  readonly keys: readonly string[];
  /** Number of list items that contain this position. */
  readonly nesting: number;
}

/** Creates the conditions that together require that the value at a position equals or contains the expected value. */
function createConditionsAt(position: JsonPosition, expected: unknown): Sql[] {
  const row = `e${position.nesting}_${position.keys.length}`;
  if (Array.isArray(expected) && expected.length > 0) {
    const item = `i${position.nesting}`;
    const itemTable = sql`json_each(CASE ${row}.type WHEN 'array' THEN ${row}.value END) ${item}`;
    return expected.map((element: unknown) =>
      createExistsCondition(
        position,
        createMatchCondition(item, element, position.nesting),
        itemTable,
      ),
    );
  }
  if (isJsonObject(expected) && (Object.keys(expected).length > 0 || position.keys.length === 0)) {
    return Object.entries(expected).flatMap(([key, value]) =>
      createConditionsAt({ ...position, keys: [...position.keys, key] }, value),
    );
  }
  return [createExistsCondition(position, createMatchCondition(row, expected, position.nesting))];
}

const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Creates the condition that a row exists at the position and meets `condition`. `joined` is one more table, to which
 * `condition` can refer.
 */
function createExistsCondition(
  { object, keys, nesting }: JsonPosition,
  condition: Sql,
  joined?: Sql,
): Sql {
  const memberTables = keys.map((_key, index) => {
    const parentRow = `e${nesting}_${index}`;
    const source =
      index === 0 ? object : `CASE ${parentRow}.type WHEN 'object' THEN ${parentRow}.value END`;
    return `json_each(${source}) e${nesting}_${index + 1}`;
  });
  const keyConditions = keys.map(
    (key, index) => sql`e${String(nesting)}_${String(index + 1)}.key = ${bind(key)}`,
  );
  const joinedSql = joined === undefined ? sql`` : sql`, ${joined}`;
  return sql`EXISTS (SELECT 1 FROM ${memberTables.join(", ")}${joinedSql} WHERE ${joinConditions([...keyConditions, condition], "AND")})`;
}

/** Creates the condition that a row of `json_each` equals a value or contains it. */
function createMatchCondition(row: string, value: unknown, nesting: number): Sql {
  if (typeof value === "string") {
    return sql`${row}.type = 'text' AND ${row}.atom = ${bind(value)}`;
  }
  if (typeof value === "number") {
    return sql`${row}.type IN ('integer', 'real') AND ${row}.atom = ${bind(value)}`;
  }
  if (Array.isArray(value)) {
    const item = `i${nesting + 1}`;
    const inner = `json_each(CASE ${row}.type WHEN 'array' THEN ${row}.value END) ${item}`;
    const itemConditions = value.map(
      (element: unknown) =>
        sql`EXISTS (SELECT 1 FROM ${inner} WHERE ${createMatchCondition(item, element, nesting + 1)})`,
    );
    return joinConditions([sql`${row}.type = 'array'`, ...itemConditions], "AND");
  }
  if (isJsonObject(value)) {
    const object = `CASE ${row}.type WHEN 'object' THEN ${row}.value END`;
    const memberConditions = createConditionsAt({ object, keys: [], nesting: nesting + 1 }, value);
    return joinConditions([sql`${row}.type = 'object'`, ...memberConditions], "AND");
  }
  // Here the value is true, false or null.
  return sql`${row}.type = '${JSON.stringify(value ?? null)}'`;
}

/**
 * Returns how deeply lists that contain lists or objects are nested. The SQL that searches for the value has the same
 * nesting.
 */
export function measureListNesting(value: unknown): number {
  if (typeof value !== "object" || value === null) {
    return 0;
  }
  const innerNesting = Math.max(0, ...Object.values(value).map(measureListNesting));
  return Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null)
    ? innerNesting + 1
    : innerNesting;
}
