/** Kinds of values that occur in a project's runs and are suggested while a filter is typed. */
export type WordKind =
  | "name"
  | "run_type"
  | "tag"
  | "metadata_key"
  | "metadata_value"
  | "feedback_key";

/** A function of the filter language. */
export interface FunctionWord {
  readonly name: string;
  /** Its syntax, shown in the help. */
  readonly form: string;
  readonly doc: string;
  /** Whether its arguments are filters rather than a field and a value. */
  readonly combines: boolean;
}

/** A field of the filter language. */
export interface FieldWord {
  /** Ends in `.<path>` if any path may follow. */
  readonly name: string;
  readonly type: string;
  readonly comparators: readonly string[];
  /** The allowed values, if the field has a fixed set of values. */
  readonly choices: readonly string[];
  readonly isNullable: boolean;
  /** A description of the field's values. */
  readonly values: string;
  readonly doc: string;
  /** Which kind of value from a project's runs is suggested; `null` if none is collected. */
  readonly words: WordKind | null;
}

/** The functions and fields of filters for one kind of resource. */
export interface FilterWords {
  readonly functions: readonly FunctionWord[];
  readonly fields: readonly FieldWord[];
}
