import type { Batch, JudgedBatch, Outcome, Sink } from "./sink.ts";

/** The answers that may mean one run of the batch only, or the size of them all together. */
const divisible = new Set([400, 413, 422]);

/**
 * Halves a batch that the server refuses as too large or as invalid, and sends the halves, down to
 * single runs: one bad run costs only itself.
 */
export function splittingSink(inner: Sink): Sink {
  const send = async (batch: Batch, signal: AbortSignal): Promise<Outcome> => {
    const outcome = await inner.send(batch, signal);
    if (outcome.kind !== "rejected" || batch.runs.length < 2) {
      return outcome;
    }
    if (!divisible.has(outcome.rejection.status ?? 0)) {
      return outcome;
    }
    const middle = Math.ceil(batch.runs.length / 2);
    const halves = [batch.part(batch.runs.slice(0, middle)), batch.part(batch.runs.slice(middle))];
    const parts: JudgedBatch[] = await Promise.all(
      halves.map(async (half) => ({ batch: half, outcome: await send(half, signal) })),
    );
    return { kind: "mixed", parts };
  };
  return { send };
}
