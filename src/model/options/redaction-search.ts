/** What a redaction rule searches for in texts. */
export interface RedactionSearch {
  readonly name: string;
  /** The pattern to search for. It has the flag `g`. */
  readonly pattern: RegExp;
  /**
   * A text is searched only if, in lower case, it contains at least one of these strings. This check is faster than a
   * search with the pattern.
   */
  readonly requiredTexts?: readonly string[];
  /** Matches must be valid card numbers, including the check digit. */
  readonly isCard?: true;
}

/**
 * A pattern for the keys of JSON objects. It is tested against each key as it is, and against the key in snake case.
 */
export interface RedactionKeySearch {
  readonly name: string;
  readonly pattern: RegExp;
}

/** The redaction rules in the form that workers use. Passed to a worker when it starts. */
export interface RedactionPlan {
  readonly searches: readonly RedactionSearch[];
  readonly keys: readonly RedactionKeySearch[];
  /**
   * Identifies these rules: a number from 2 to 255 that is written into each record to which the
   * rules were applied.
   */
  readonly mark: number;
  /** Set if the rules are unknown: everything that they might apply to is then masked. */
  readonly masksEverything?: true;
}
