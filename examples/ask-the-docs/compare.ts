import type { WireRun } from "millrace/model";
import { digest } from "./canonical.ts";
import type { ExpectedRun, Ledger } from "./ledger.ts";

/** The first field in which a run from the server differs from the recorded one; `undefined` if they are equal. */
export const findDifference = (expected: ExpectedRun, actual: WireRun): string | undefined => {
  if (actual.name !== expected.name) {
    return "name";
  }
  if (actual.run_type !== expected.runType) {
    return "run type";
  }
  if ((actual.parent_run_id ?? undefined) !== expected.parentId) {
    return "parent";
  }
  if (digest(actual.inputs).hash !== expected.inputs) {
    return "inputs";
  }
  if (hashOutputs(actual.outputs) !== expected.outputs) {
    return "outputs";
  }
  if (!isSameError(actual.error, expected.error)) {
    return "error";
  }
  if (hashTokens(actual.events) !== expected.tokens) {
    return "tokens";
  }
  if (isAbsent(actual.end_time)) {
    return "end time";
  }
  return undefined;
};

/** Compares the runs from the server, one by one, with those in the program's ledger. */
export class Comparison {
  readonly #ledger: Ledger;
  readonly #missing: Set<string>;
  #equal = 0;
  #unknown = 0;
  readonly #different: string[] = [];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#missing = new Set(ledger.ids());
  }

  /** Compares one run from the server. If the same run is added again, it counts as unknown. */
  add(actual: WireRun): void {
    const expected = this.#ledger.get(actual.id);
    if (expected === undefined || !this.#missing.delete(actual.id)) {
      this.#unknown += 1;
      return;
    }
    const field = findDifference(expected, actual);
    if (field === undefined) {
      this.#equal += 1;
    } else {
      this.#different.push(`${expected.name} ${actual.id}: ${field}`);
    }
  }

  result(): ReadBack {
    return {
      equal: this.#equal,
      different: [...this.#different],
      missing: [...this.#missing],
      unknown: this.#unknown,
    };
  }
}

/** The result of the comparison, in runs. */
export interface ReadBack {
  readonly equal: number;
  /** Name, id and first different field of each run that differs from the recorded one. */
  readonly different: readonly string[];
  /** Ids of runs that the server does not have. */
  readonly missing: readonly string[];
  /** Number of runs on the server that were not recorded, or that it returned twice. */
  readonly unknown: number;
}

/** Whether the server returned every recorded run, equal to the recorded one, and no other runs. */
export const isComplete = ({ different, missing, unknown }: ReadBack): boolean =>
  different.length + missing.length + unknown === 0;

const isAbsent = (value: unknown): value is null | undefined =>
  value === null || value === undefined;

const hashOutputs = (outputs: WireRun["outputs"]): string | undefined =>
  isAbsent(outputs) ? undefined : digest(outputs).hash;

// The error on the server contains the message and the stack.
const isSameError = (actual: string | null | undefined, expected: string | undefined): boolean =>
  isAbsent(actual) || expected === undefined
    ? isAbsent(actual) && expected === undefined
    : actual.includes(expected);

const hashTokens = (events: WireRun["events"]): string | undefined => {
  const tokens = (events ?? []).flatMap((event) => {
    const { name, token } = event as { name?: unknown; token?: unknown };
    return name === "new_token" ? [token] : [];
  });
  return tokens.length === 0 ? undefined : digest(tokens).hash;
};
