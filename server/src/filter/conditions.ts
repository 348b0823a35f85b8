import type { Comparator } from "./ast.ts";
import type { Operand, Scalar } from "./operands.ts";
import { holds } from "./json-sql.ts";
import { bind, bindBytes, join, negate, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** A comparator and its value, without the field. */
export interface Test {
  readonly comparator: Comparator;
  readonly operand: Operand;
}

/** A JSON value, as SQL reaches it. */
export interface JsonValue {
  /** Its type in the words of SQLite: `text`, `integer`, `real`, `true`, `false`, `null`, … */
  readonly type: string;
  readonly atom: string;
}

const signs = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/** The one value of a comparator that takes one. */
export const valueOf = (operand: Operand): Scalar =>
  operand.kind === "scalar" ? operand.value : null;

/** The values of a comparator, one or a list. */
export const valuesOf = (operand: Operand): readonly Scalar[] =>
  operand.kind === "list" ? operand.values : [valueOf(operand)];

/** A condition on a column, which is NULL where there is no value. */
export function compareColumn(column: string, { comparator, operand }: Test): Sql {
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
      return sql`${column} ${signs[comparator]} ${bind(valueOf(operand))}`;
    case "search":
    case "exists":
      return holds(column, String(valueOf(operand)));
    case "like":
      return isLike(column, String(valueOf(operand)));
  }
}

function isAnyOf(column: string, values: readonly Scalar[]): Sql {
  const given = values.filter((value) => value !== null);
  const [first] = given;
  const parts: Sql[] = values.length > given.length ? [sql`${column} IS NULL`] : [];
  if (given.length === 1 && first !== undefined) {
    parts.push(sql`${column} = ${bind(first)}`);
  } else if (given.length > 1) {
    const list = given.map(bind);
    const marks = list.map((value) => value.sql).join(", ");
    parts.push({
      sql: `${column} IN (${marks})`,
      values: list.flatMap((value) => value.values),
    });
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : join(parts, "OR");
}

/** A condition on a JSON value of any type. */
export function compareValue(value: JsonValue, { comparator, operand }: Test): Sql {
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return join(
        valuesOf(operand).map((wanted) => isValue(value, wanted)),
        "OR",
      );
    case "neq":
      return negate(isValue(value, valueOf(operand)));
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const wanted = valueOf(operand);
      const types = typeof wanted === "number" ? "'integer', 'real'" : "'text'";
      return sql`${value.type} IN (${types}) AND ${value.atom} ${signs[comparator]} ${bind(wanted)}`;
    }
    case "search":
    case "exists":
      return sql`${value.type} = 'text' AND ${holds(value.atom, String(valueOf(operand)))}`;
    case "like":
      return sql`${value.type} = 'text' AND ${isLike(value.atom, String(valueOf(operand)))}`;
  }
}

/** Texts that are written as a number or a truth value equal it: metadata from an environment is text. */
function isValue({ type, atom }: JsonValue, wanted: Scalar): Sql {
  if (wanted === null || typeof wanted === "boolean") {
    return sql`${type} = '${String(wanted)}'`;
  }
  if (typeof wanted === "number") {
    return sql`${type} IN ('integer', 'real') AND ${atom} = ${bind(wanted)}`;
  }
  if (wanted === "true" || wanted === "false") {
    return sql`(${type} = '${wanted}' OR ${type} = 'text' AND ${atom} = ${bind(wanted)})`;
  }
  const isText = sql`${type} = 'text' AND ${atom} = ${bind(wanted)}`;
  return /^-?\d/.test(wanted)
    ? sql`(${isText} OR ${type} IN ('integer', 'real') AND CAST(${atom} AS TEXT) = ${bind(wanted)})`
    : isText;
}

/** `%` stands for any characters, `_` for one. Letters differ by case. */
function isLike(text: string, pattern: string): Sql {
  const plain = /^(%?)([^%_]*)(%?)$/.exec(pattern);
  if (plain === null) {
    const glob = pattern.replaceAll(/[*?[]/g, "[$&]").replaceAll("%", "*").replaceAll("_", "?");
    return sql`${text} GLOB ${bind(glob)}`;
  }
  // The usual patterns byte by byte: GLOB would end a text at its first NUL.
  const [, head = "", middle = "", tail = ""] = plain;
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
