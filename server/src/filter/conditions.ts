import type { Comparator } from "./ast.ts";
import type { Operand, Scalar } from "./operands.ts";
import { createContainsCondition } from "./json-sql.ts";
import { bind, bindBytes, joinConditions, negateCondition, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** A comparator and its value, without a field. */
export interface ValueComparison {
  readonly comparator: Comparator;
  readonly operand: Operand;
}

/** The SQL expressions for the type and the content of a JSON value. */
export interface JsonValue {
  /** The type by SQLite's name: `text`, `integer`, `real`, `true`, `false`, `null`, … */
  readonly type: string;
  readonly atom: string;
}

const sqlOperators = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** Returns the value of an operand that is a single value; `null` for any other operand. */
export const toSingleValue = (operand: Operand): Scalar =>
  operand.kind === "scalar" ? operand.value : null;

/** Returns the values of an operand as a list, even if it is a single value. */
export const toValues = (operand: Operand): readonly Scalar[] =>
  operand.kind === "list" ? operand.values : [toSingleValue(operand)];

/** Compiles a comparison with a column, which is NULL if there is no value. */
export function compileColumnComparison(
  column: string,
  { comparator, operand }: ValueComparison,
): Sql {
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return createListCondition(column, toValues(operand));
    case "neq":
      return sql`${column} IS NOT ${bind(toSingleValue(operand))}`;
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return sql`${column} ${sqlOperators[comparator]} ${bind(toSingleValue(operand))}`;
    case "search":
    case "exists":
      return createContainsCondition(column, String(toSingleValue(operand)));
    case "like":
      return createPatternCondition(column, String(toSingleValue(operand)));
  }
}

function createListCondition(column: string, values: readonly Scalar[]): Sql {
  const nonNull = values.filter((value) => value !== null);
  const [first] = nonNull;
  const parts: Sql[] = values.length > nonNull.length ? [sql`${column} IS NULL`] : [];
  if (nonNull.length === 1 && first !== undefined) {
    parts.push(sql`${column} = ${bind(first)}`);
  } else if (nonNull.length > 1) {
    const list = nonNull.map(bind);
    const placeholders = list.map((value) => value.sql).join(", ");
    parts.push({
      sql: `${column} IN (${placeholders})`,
      values: list.flatMap((value) => value.values),
    });
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : joinConditions(parts, "OR");
}

/** Compiles a comparison with a JSON value of any type. */
export function compileValueComparison(
  value: JsonValue,
  { comparator, operand }: ValueComparison,
): Sql {
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return joinConditions(
        toValues(operand).map((expected) => createEqualityCondition(value, expected)),
        "OR",
      );
    case "neq":
      return negateCondition(createEqualityCondition(value, toSingleValue(operand)));
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const expected = toSingleValue(operand);
      const types = typeof expected === "number" ? "'integer', 'real'" : "'text'";
      return sql`${value.type} IN (${types}) AND ${value.atom} ${sqlOperators[comparator]} ${bind(expected)}`;
    }
    case "search":
    case "exists":
      return sql`${value.type} = 'text' AND ${createContainsCondition(value.atom, String(toSingleValue(operand)))}`;
    case "like":
      return sql`${value.type} = 'text' AND ${createPatternCondition(value.atom, String(toSingleValue(operand)))}`;
  }
}

/**
 * Creates the condition that a JSON value equals the expected value. An expected text that looks like a number or a
 * boolean also equals that number or boolean, because metadata from environment variables is always text.
 */
function createEqualityCondition({ type, atom }: JsonValue, expected: Scalar): Sql {
  if (expected === null || typeof expected === "boolean") {
    return sql`${type} = '${String(expected)}'`;
  }
  if (typeof expected === "number") {
    return sql`${type} IN ('integer', 'real') AND ${atom} = ${bind(expected)}`;
  }
  if (expected === "true" || expected === "false") {
    return sql`(${type} = '${expected}' OR ${type} = 'text' AND ${atom} = ${bind(expected)})`;
  }
  const textCondition = sql`${type} = 'text' AND ${atom} = ${bind(expected)}`;
  return /^-?\d/.test(expected)
    ? sql`(${textCondition} OR ${type} IN ('integer', 'real') AND CAST(${atom} AS TEXT) = ${bind(expected)})`
    : textCondition;
}

/**
 * Creates the condition that a text matches a pattern: `%` matches any characters, `_` matches one character.
 * Matching is case-sensitive.
 */
function createPatternCondition(text: string, pattern: string): Sql {
  const simplePattern = /^(%?)([^%_]*)(%?)$/.exec(pattern);
  if (simplePattern === null) {
    const glob = pattern.replaceAll(/[*?[]/g, "[$&]").replaceAll("%", "*").replaceAll("_", "?");
    return sql`${text} GLOB ${bind(glob)}`;
  }
  // Compare simple patterns byte by byte, because GLOB ends a text at its first NUL.
  const [, leadingWildcard = "", middle = "", trailingWildcard = ""] = simplePattern;
  const part = bindBytes(middle);
  const blob = `CAST(${text} AS BLOB)`;
  if (middle === "") {
    return leadingWildcard + trailingWildcard === "" ? sql`${text} = ''` : sql`${text} IS NOT NULL`;
  }
  if (leadingWildcard !== "" && trailingWildcard !== "") {
    return sql`instr(${blob}, ${part}) > 0`;
  }
  if (trailingWildcard !== "") {
    return sql`substr(${blob}, 1, ${String(part.length)}) = ${part}`;
  }
  return leadingWildcard === ""
    ? sql`${blob} = ${part}`
    : sql`substr(${blob}, -${String(part.length)}) = ${part}`;
}
