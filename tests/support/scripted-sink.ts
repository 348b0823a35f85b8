import type { Batch, Outcome, Sink } from "../../src/workers/sinks/sink.ts";

/** A sink that keeps its batches and returns scripted outcomes in turn; the last one repeats. */
export interface ScriptedSink extends Sink {
  readonly batches: readonly Batch[];
}

/** An outcome, or a function that returns one for a batch. */
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
