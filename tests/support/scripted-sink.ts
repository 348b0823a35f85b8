import type { Batch, Outcome, Sink } from "../../src/workers/sink.ts";

/** Keeps what it is given; answers with the outcomes it was made with in turn, the last one for ever. */
export interface ScriptedSink extends Sink {
  readonly batches: readonly Batch[];
}

export function scriptedSink(...script: readonly Outcome[]): ScriptedSink {
  const batches: Batch[] = [];
  return {
    batches,
    send(batch: Batch): Promise<Outcome> {
      batches.push(batch);
      const outcome = script[Math.min(batches.length, script.length) - 1];
      return Promise.resolve(outcome ?? { kind: "delivered" });
    },
  };
}
