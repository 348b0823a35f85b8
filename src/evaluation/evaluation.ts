import type { Client, KeyValues } from "../main/index.ts";
import { Deferred } from "../model/deferred.ts";
import type { Journal } from "./store/journal.ts";
import type { EvaluatedRow, EvaluationProgress, EvaluationResult } from "./result.ts";
import { Summary } from "./summary.ts";

/**
 * An evaluation that has started. Await it for the result, or iterate over it for the rows, from the first one on, while
 * it runs.
 */
export interface Evaluation<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues>
  extends
    PromiseLike<EvaluationResult<Inputs, Outputs, Reference>>,
    AsyncIterable<EvaluatedRow<Inputs, Outputs, Reference>> {
  /** Counts and averages of the rows that have finished so far. */
  progress(): EvaluationProgress;
}

/** The row that is being evaluated. */
export interface CurrentRow {
  readonly experimentId: string;
  readonly exampleId: string;
  /** Counted from 1. */
  readonly repetition: number;
}

/** What a running evaluation shares with the object that the caller has. */
export interface EvaluationState {
  readonly summary: Summary;
  /** Call this as soon as rows can be read. */
  readonly setJournal: (journal: Pick<Journal, "followRows">) => void;
}

/** Starts an evaluation, and returns the object for the caller. */
export function startEvaluation<Inputs, Outputs, Reference>(
  run: (state: EvaluationState) => Promise<EvaluationResult<unknown, unknown, unknown>>,
): Evaluation<Inputs, Outputs, Reference> {
  const summary = new Summary();
  const journal = new Deferred<Pick<Journal, "followRows"> | undefined>();
  const runToEnd = async () => {
    try {
      return await run({ summary, setJournal: journal.resolve });
    } finally {
      // An evaluation that fails before it has a journal has no rows.
      journal.resolve(undefined);
    }
  };
  // No handler is attached here, so that Node reports the failure of an evaluation that nobody awaits.
  const result = runToEnd() as Promise<EvaluationResult<Inputs, Outputs, Reference>>;
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- the caller awaits the evaluation itself
    then: (onFulfilled, onRejected) => result.then(onFulfilled, onRejected),
    progress: () => summary.progress(),
    async *[Symbol.asyncIterator]() {
      // The failure is thrown when all rows were read.
      result.catch(() => {});
      const rows = (await journal.promise)?.followRows();
      if (rows !== undefined) {
        yield* rows as AsyncGenerator<EvaluatedRow<Inputs, Outputs, Reference>, void>;
      }
      await result;
    },
  };
}

/** Calls a function with the client of the caller, or with one that is closed afterwards. */
export async function withClient<Result>(
  client: Client | undefined,
  create: () => Client,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const usedClient = client ?? create();
  try {
    return await use(usedClient);
  } finally {
    if (client === undefined) {
      await usedClient.close();
    }
  }
}
