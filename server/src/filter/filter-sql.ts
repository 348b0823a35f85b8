import type { Scalar } from "./operands.ts";
import type { Sql } from "./sql.ts";

/** The SQL expressions for the type and the content of a JSON value. */
export interface JsonValue {
  /** SQL for the name of the type in SQLite: `text`, `integer`, `real`, `true`, `false`, `null`, … */
  readonly type: string;
  /** SQL for the value if it is a text. */
  readonly atom: string;
  /** SQL for the value if it is a number. */
  readonly number: string;
}

/** The SQL of filters that differs between the database engines. */
export interface FilterSql {
  readonly bind: (value: Scalar) => Sql;
  /** The condition that a column differs from a value. NULL differs from every value but `null`. */
  readonly createDifference: (column: string, value: Scalar) => Sql;
  /** The condition that a text contains another one. The case of ASCII letters is ignored. */
  readonly createContains: (text: string, part: string) => Sql;
  /** The condition that a text matches a pattern with the wildcards `%` and `_`. Case matters. */
  readonly createPattern: (text: string, pattern: string) => Sql;
  /** The condition that one of the texts of a JSON list meets a condition on `e.atom`. */
  readonly createAnyText: (list: string, condition: Sql) => Sql;
  /** The condition that any text within a JSON value contains another text; see `createContains`. */
  readonly createTextSearch: (json: string, text: string) => Sql;
  /**
   * The condition that a JSON object has an entry, at any depth, that meets a condition on `w.path`, on `w.json` and on
   * the members of `entryValue`. If `keys` is set, only the paths to these keys are read.
   */
  readonly createEntry: (
    object: string,
    condition: Sql,
    keys: readonly string[] | undefined,
  ) => Sql;
  /** The condition that a JSON object contains another one. */
  readonly createContainsObject: (
    object: string,
    expected: Readonly<Record<string, unknown>>,
  ) => Sql;
  /** The value of an entry in the condition of `createEntry`. */
  readonly entryValue: JsonValue;
  /** Converts the SQL of a number to the SQL of its text. */
  readonly toNumberText: (numberSql: string) => string;
}
