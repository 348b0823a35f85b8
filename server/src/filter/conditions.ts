import type { Comparator } from "./ast.ts";
import type { Operand, Scalar } from "./operands.ts";
import { textContains } from "./json-sql.ts";
import { bind, bindBytes, join, negate, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** A comparator and its value, without the field. */
export interface ValueTest {
  readonly comparator: Comparator;
  readonly operand: Operand;
}

/** The SQL expressions for a JSON value. */
export interface JsonValue {
  /** Its type as SQLite names it: `text`, `integer`, `real`, `true`, `false`, `null`, … */
  readonly type: string;
  readonly atom: string;
}

const operators = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** The value of a comparator that takes a single value. */
export const valueOf = (operand: Operand): Scalar =>
  operand.kind === "scalar" ? operand.value : null;

/** The values of a comparator, whether it takes one or a list. */
export const valuesOf = (operand: Operand): readonly Scalar[] =>
  operand.kind === "list" ? operand.values : [valueOf(operand)];

/** A condition on a column, which is NULL if there is no value. */
export function compareColumn(column: string, { comparator, operand }: ValueTest): Sql {
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return isAnyOf(column, valuesOf(operand));
    case "neq":
      return sql`${column} IS NOT ${bind(valueOf(operand))}`;
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return sql`${column} ${operators[comparator]} ${bind(valueOf(operand))}`;
    case "search":
    case "exists":
      return textContains(column, String(valueOf(operand)));
    case "like":
      return isLike(column, String(valueOf(operand)));
  }
}

function isAnyOf(column: string, values: readonly Scalar[]): Sql {
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
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : join(parts, "OR");
}

/** A condition on a JSON value of any type. */
export function compareValue(value: JsonValue, { comparator, operand }: ValueTest): Sql {
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return join(
        valuesOf(operand).map((expected) => equalsValue(value, expected)),
        "OR",
      );
    case "neq":
      return negate(equalsValue(value, valueOf(operand)));
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const expected = valueOf(operand);
      const types = typeof expected === "number" ? "'integer', 'real'" : "'text'";
      return sql`${value.type} IN (${types}) AND ${value.atom} ${operators[comparator]} ${bind(expected)}`;
    }
    case "search":
    case "exists":
      return sql`${value.type} = 'text' AND ${textContains(value.atom, String(valueOf(operand)))}`;
    case "like":
      return sql`${value.type} = 'text' AND ${isLike(value.atom, String(valueOf(operand)))}`;
  }
}

/**
 * A text that is spelled like a number or a boolean also equals it, because metadata from environment variables is
 * always text.
 */
function equalsValue({ type, atom }: JsonValue, expected: Scalar): Sql {
  if (expected === null || typeof expected === "boolean") {
    return sql`${type} = '${String(expected)}'`;
  }
  if (typeof expected === "number") {
    return sql`${type} IN ('integer', 'real') AND ${atom} = ${bind(expected)}`;
  }
  if (expected === "true" || expected === "false") {
    return sql`(${type} = '${expected}' OR ${type} = 'text' AND ${atom} = ${bind(expected)})`;
  }
  const isText = sql`${type} = 'text' AND ${atom} = ${bind(expected)}`;
  return /^-?\d/.test(expected)
    ? sql`(${isText} OR ${type} IN ('integer', 'real') AND CAST(${atom} AS TEXT) = ${bind(expected)})`
    : isText;
}

/** `%` matches any characters, `_` matches one character. Matching is case-sensitive. */
function isLike(text: string, pattern: string): Sql {
  const simplePattern = /^(%?)([^%_]*)(%?)$/.exec(pattern);
  if (simplePattern === null) {
    const glob = pattern.replaceAll(/[*?[]/g, "[$&]").replaceAll("%", "*").replaceAll("_", "?");
    return sql`${text} GLOB ${bind(glob)}`;
  }
  // Simple patterns are compared byte by byte, because GLOB ends a text at its first NUL.
  const [, head = "", middle = "", tail = ""] = simplePattern;
  const part = bindBytes(middle);
  const blob = `CAST(${text} AS BLOB)`;
  if (middle === "") {
    return head + tail === "" ? sql`${text} = ''` : sql`${text} IS NOT NULL`;
  }
  if (head !== "" && tail !== "") {
    return sql`instr(${blob}, ${part}) > 0`;
  }
  if (tail !== "") {
    return sql`substr(${blob}, 1, ${String(part.length)}) = ${part}`;
  }
  return head === ""
    ? sql`${blob} = ${part}`
    : sql`substr(${blob}, -${String(part.length)}) = ${part}`;
}
