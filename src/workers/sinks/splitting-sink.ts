import { resultParts } from "./sink.ts";
import type { Batch, BatchResult, Outcome, Sink } from "./sink.ts";

/** The answers that may mean one run of the batch only, or the size of them all together. */
const divisible = new Set([400, 413, 422]);

/**
 * Halves a batch that the server refuses as too large or as invalid, or that can't be written, and sends the halves, down to
 * single runs: one bad run costs only itself, and about two requests a halving. A single run that is too
 * large is sent in parts, and with markers in place of its largest payloads: the rest of it arrives.
 */
export function splittingSink(inner: Sink): Sink {
  const send = async (batch: Batch, signal: AbortSignal): Promise<Outcome> => {
    const judged = resultParts({ batch, outcome: await inner.send(batch, signal) });
    const parts = await Promise.all(judged.map((part) => divided(part, signal)));
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only.outcome : { kind: "mixed", parts };
  };
  const divided = async (judged: BatchResult, signal: AbortSignal): Promise<BatchResult> => {
    const { batch } = judged;
    if (isTooLarge(judged)) {
      return lightened(judged, signal);
    }
    if (!isDivisible(judged)) {
      return judged;
    }
    const middle = Math.ceil(batch.runs.length / 2);
    const halves = [batch.part(batch.runs.slice(0, middle)), batch.part(batch.runs.slice(middle))];
    const parts = await Promise.all(
      halves.map(async (half) => ({ batch: half, outcome: await send(half, signal) })),
    );
    return { batch, outcome: { kind: "mixed", parts } };
  };
  /** The run first: there are no attachments of a run that the server has not. */
  const dealtOut = async (
    { batch }: BatchResult,
    shares: readonly Batch[],
    signal: AbortSignal,
  ): Promise<BatchResult> => {
    const parts: BatchResult[] = [];
    for (const share of shares) {
      parts.push(...resultParts({ batch: share, outcome: await send(share, signal) }));
      if (parts.some(({ outcome }) => outcome.kind !== "delivered")) {
        break;
      }
    }
    const undone = parts.find(({ outcome }) => outcome.kind !== "delivered");
    const delivered: BatchResult = {
      batch: batch.rejoin(parts.map((part) => part.batch)),
      outcome: { kind: "delivered" },
    };
    const whole = undone === undefined ? delivered : { batch, outcome: undone.outcome };
    return { batch, outcome: { kind: "mixed", parts: [whole] } };
  };
  /** One after the other: a server that accepts single runs needs the start before the end. */
  const lightened = async (judged: BatchResult, signal: AbortSignal): Promise<BatchResult> => {
    const shares = judged.batch.shares();
    if (shares.length > 0) {
      return dealtOut(judged, shares, signal);
    }
    const parts: BatchResult[] = [];
    for (const batch of judged.batch.lighter()) {
      parts.push({ batch, outcome: await send(batch, signal) });
    }
    return parts.length === 0 ? judged : { batch: judged.batch, outcome: { kind: "mixed", parts } };
  };
  return { send };
}

const isTooLarge = ({ batch, outcome }: BatchResult): boolean =>
  batch.runs.length === 1 && outcome.kind === "rejected" && outcome.rejection.status === 413;

const isDivisible = ({ batch, outcome }: BatchResult): boolean =>
  batch.runs.length > 1 &&
  (outcome.kind === "unwritable" ||
    (outcome.kind === "rejected" && divisible.has(outcome.rejection.status ?? 0)));
