import type { WireRun } from "millrace/model";
import { digest } from "./canonical.ts";
import type { ExpectedRun, Ledger } from "./ledger.ts";

/** The first field in which a run that was read back differs from what was recorded. */
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

/** Compares what comes back, run by run, with what the program noted. */
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

  /** Takes one run of the server. A run that comes twice counts as unknown the second time. */
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

/** What reading everything back showed, in runs. */
export interface ReadBack {
  readonly equal: number;
  /** Name, id and first differing field of each run that is not what was recorded. */
  readonly different: readonly string[];
  /** Ids of runs that the server does not have. */
  readonly missing: readonly string[];
  /** Runs that the server has and nobody recorded, or has twice. */
  readonly unknown: number;
}

/** Whether every run came back, equal, and nothing else did. */
export const isComplete = ({ different, missing, unknown }: ReadBack): boolean =>
  different.length + missing.length + unknown === 0;

const isAbsent = (value: unknown): value is null | undefined =>
  value === null || value === undefined;

const hashOutputs = (outputs: WireRun["outputs"]): string | undefined =>
  isAbsent(outputs) ? undefined : digest(outputs).hash;

// The server's text has the stack behind the message.
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
