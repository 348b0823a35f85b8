import type { Comparator } from "./ast.ts";
import type { Operand, Scalar } from "./operands.ts";
import type { FilterSql, JsonValue } from "./filter-sql.ts";
import { joinConditions, negateCondition, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** A comparator and its value, without a field. */
export interface ValueComparison {
  readonly comparator: Comparator;
  readonly operand: Operand;
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
  { bind, createDifference, createContains, createPattern }: FilterSql,
  column: string,
  { comparator, operand }: ValueComparison,
): Sql {
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return createListCondition(bind, column, toValues(operand));
    case "neq":
      return createDifference(column, toSingleValue(operand));
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return sql`${column} ${sqlOperators[comparator]} ${bind(toSingleValue(operand))}`;
    case "search":
    case "exists":
      return createContains(column, String(toSingleValue(operand)));
    case "like":
      return createPattern(column, String(toSingleValue(operand)));
  }
}

function createListCondition(
  bind: FilterSql["bind"],
  column: string,
  values: readonly Scalar[],
): Sql {
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
  language: FilterSql,
  value: JsonValue,
  { comparator, operand }: ValueComparison,
): Sql {
  const { bind, createContains, createPattern } = language;
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return joinConditions(
        toValues(operand).map((expected) => createEqualityCondition(language, value, expected)),
        "OR",
      );
    case "neq":
      return negateCondition(createEqualityCondition(language, value, toSingleValue(operand)));
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const expected = toSingleValue(operand);
      const [types, content] =
        typeof expected === "number"
          ? (["'integer', 'real'", value.number] as const)
          : (["'text'", value.atom] as const);
      return sql`${value.type} IN (${types}) AND ${content} ${sqlOperators[comparator]} ${bind(expected)}`;
    }
    case "search":
    case "exists":
      return sql`${value.type} = 'text' AND ${createContains(value.atom, String(toSingleValue(operand)))}`;
    case "like":
      return sql`${value.type} = 'text' AND ${createPattern(value.atom, String(toSingleValue(operand)))}`;
  }
}

/**
 * Creates the condition that a JSON value equals the expected value. An expected text that looks like a number or a
 * boolean also equals that number or boolean: one program stores the same metadata as text, because it comes from an
 * environment variable, and another as a number, and one filter should find both.
 */
function createEqualityCondition(
  { bind, toNumberText }: FilterSql,
  { type, atom, number }: JsonValue,
  expected: Scalar,
): Sql {
  if (expected === null || typeof expected === "boolean") {
    return sql`${type} = '${String(expected)}'`;
  }
  if (typeof expected === "number") {
    return sql`${type} IN ('integer', 'real') AND ${number} = ${bind(expected)}`;
  }
  if (expected === "true" || expected === "false") {
    return sql`(${type} = '${expected}' OR ${type} = 'text' AND ${atom} = ${bind(expected)})`;
  }
  const textCondition = sql`${type} = 'text' AND ${atom} = ${bind(expected)}`;
  return /^-?\d/.test(expected)
    ? sql`(${textCondition} OR ${type} IN ('integer', 'real') AND ${toNumberText(number)} = ${bind(expected)})`
    : textCondition;
}
