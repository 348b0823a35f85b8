import type { Client } from "../main/index.ts";
import { Deferred } from "../model/deferred.ts";
import type { Evaluation } from "./evaluation.ts";
import type { Journal } from "./store/journal.ts";
import type { EvaluatedRow, EvaluationResult } from "./result.ts";
import { findEvaluationRunner } from "./runner.ts";
import type { EvaluationObserver } from "./runner.ts";
import { Summary } from "./summary.ts";

/** State that a running evaluation shares with the {@link Evaluation} object of the caller. */
export interface EvaluationState {
  readonly summary: Summary;
  /** Must be called as soon as rows can be read from the journal. */
  readonly setJournal: (journal: Pick<Journal, "followRows">) => void;
  /** Present if a runner follows the evaluation. */
  readonly observer: EvaluationObserver | undefined;
}

/** Starts an evaluation, and returns the object for the caller. `call` is the name of the function that was called. */
export function startEvaluation<Inputs, Outputs, Reference>(
  call: string,
  run: (state: EvaluationState) => Promise<EvaluationResult<unknown, unknown, unknown>>,
): Evaluation<Inputs, Outputs, Reference> {
  const summary = new Summary();
  const observing: { observer?: EvaluationObserver | undefined } = {};
  const journal = new Deferred<Pick<Journal, "followRows"> | undefined>();
  const runToEnd = async () => {
    try {
      // The observer is set after `runToEnd` was called, but before the evaluation reads it, so it must be a getter.
      return await run({
        summary,
        setJournal: journal.resolve,
        get observer() {
          return observing.observer;
        },
      });
    } finally {
      // If the evaluation failed before it had a journal, there are no rows to read.
      journal.resolve(undefined);
    }
  };
  // No handler is attached here, so that Node reports the failure of an evaluation that nobody awaits.
  const result = runToEnd() as Promise<EvaluationResult<Inputs, Outputs, Reference>>;
  const evaluation: Evaluation<Inputs, Outputs, Reference> = {
    // oxlint-disable-next-line unicorn/no-thenable -- the caller awaits the evaluation itself
    then: (onFulfilled, onRejected) => result.then(onFulfilled, onRejected),
    progress: () => summary.progress(),
    async *[Symbol.asyncIterator]() {
      // Prevent an unhandled rejection: the failure is thrown below, after all rows were read.
      result.catch(() => {});
      const rows = (await journal.promise)?.followRows();
      if (rows !== undefined) {
        yield* rows as AsyncGenerator<EvaluatedRow<Inputs, Outputs, Reference>, void>;
      }
      await result;
    },
  };
  observing.observer = findEvaluationRunner()?.onStart(evaluation, call);
  return evaluation;
}

/** Calls a function with the caller's client. Without one, creates a client, and closes it afterwards. */
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
