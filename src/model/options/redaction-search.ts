/** What a rule finds in texts. */
export interface RedactionSearch {
  readonly name: string;
  /** Global. */
  readonly pattern: RegExp;
  /** In lower case: texts that hold none of these are not searched. */
  readonly needs?: readonly string[];
  /** Matches that are digits of no card are none. */
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
  /** From 2 to 255: says on a tape that these very rules were applied. */
  readonly mark: number;
  /** The rules can't be known: everything that they would search is masked. */
  readonly masksEverything?: true;
}
