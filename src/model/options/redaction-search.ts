/** What a rule finds in texts. */
export interface RedactionSearch {
  readonly name: string;
  /** Global. */
  readonly pattern: RegExp;
  /** In lower case: texts that hold none of these are not searched. */
  readonly needs?: readonly string[];
  /** Digits that fail the check sum of card numbers do not count as a match. */
  readonly isCard?: true;
}

/** Keys, tested against their snake case too. */
export interface RedactionKeySearch {
  readonly name: string;
  readonly pattern: RegExp;
}

/** The rules as a worker needs them: crosses to it when it starts. */
export interface RedactionPlan {
  readonly searches: readonly RedactionSearch[];
  readonly keys: readonly RedactionKeySearch[];
  /** A mark from 2 to 255 that a tape carries once these rules were applied to it. */
  readonly mark: number;
  /** The rules can't be known: everything that they would search is masked. */
  readonly masksEverything?: true;
}
