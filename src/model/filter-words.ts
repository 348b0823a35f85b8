/** What filters of runs are written with, as a project's runs have it. */
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
  /** How it is written. */
  readonly form: string;
  readonly doc: string;
  /** Whether it takes filters rather than a field and a value. */
  readonly combines: boolean;
}

/** A field, and what it may be compared with. */
export interface FieldWord {
  /** Ends in `.<path>` where any path may follow. */
  readonly name: string;
  readonly type: string;
  readonly comparators: readonly string[];
  /** The values of a choice. */
  readonly choices: readonly string[];
  readonly isNullable: boolean;
  /** What its values look like, in words. */
  readonly values: string;
  readonly doc: string;
  /** Which words of a project's runs are values of it; `null` where none are kept. */
  readonly words: WordKind | null;
}

/** All that filters of one kind of thing are written with. */
export interface FilterWords {
  readonly functions: readonly FunctionWord[];
  readonly fields: readonly FieldWord[];
}
