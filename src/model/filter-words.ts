/** Kinds of values that occur in a project's runs and are suggested while a filter is typed. */
export type ValueKind =
  | "name"
  | "run_type"
  | "tag"
  | "metadata_key"
  | "metadata_value"
  | "feedback_key";

/** A function of the filter language (docs/filter-language.md). */
export interface FilterFunction {
  readonly name: string;
  /** An example of the function's syntax, shown in the help. */
  readonly form: string;
  readonly doc: string;
  /** Whether the function's arguments are other filters (`and`, `or`, `not`) rather than a field and a value. */
  readonly combines: boolean;
}

/** A field of the filter language. */
export interface FilterField {
  /** The field's name. It ends in `.<path>` if it refers to a member at any path, such as `metadata.<path>`. */
  readonly name: string;
  readonly type: string;
  readonly comparators: readonly string[];
  /** The allowed values, if the field has a fixed set of values. */
  readonly choices: readonly string[];
  readonly isNullable: boolean;
  /** A description of the field's values. */
  readonly values: string;
  readonly doc: string;
  /**
   * The kind of values that are suggested for the field. They are collected from a project's runs; `null` if none are
   * collected.
   */
  readonly words: ValueKind | null;
}

/** The functions and fields of filters for one kind of resource. */
export interface FilterLanguage {
  readonly functions: readonly FilterFunction[];
  readonly fields: readonly FilterField[];
}
