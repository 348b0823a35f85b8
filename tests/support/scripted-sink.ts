import type { Batch, Outcome, Sink } from "../../src/workers/sinks/sink.ts";

/** Keeps what it is given; answers with the outcomes it was made with in turn, the last one for ever. */
export interface ScriptedSink extends Sink {
  readonly batches: readonly Batch[];
}

/** What to answer: an outcome, or what to make of the batch. */
export type Script = Outcome | ((batch: Batch) => Outcome);

export function scriptedSink(...script: readonly Script[]): ScriptedSink {
  const batches: Batch[] = [];
  return {
    batches,
    send(batch: Batch): Promise<Outcome> {
      batches.push(batch);
      const next = script[Math.min(batches.length, script.length) - 1] ?? { kind: "delivered" };
      return Promise.resolve(typeof next === "function" ? next(batch) : next);
    },
  };
}
