import { flattenResult } from "./sink.ts";
import type { Batch, BatchResult, Outcome, Sink } from "./sink.ts";

/** HTTP statuses whose cause may be only one run of the batch, or the size of all runs together. */
const divisibleStatuses = new Set([400, 413, 422]);

/**
 * Halves a batch that the server rejects as too large or invalid, or that can't be written, and sends the halves, down
 * to single runs. So an invalid run does not make other runs fail; it only costs about two requests per halving. A
 * single run that is too large is sent in several requests and with markers in place of its largest payloads, so that
 * its other fields arrive.
 */
export function createSplittingSink(inner: Sink): Sink {
  const send = async (batch: Batch, signal: AbortSignal): Promise<Outcome> => {
    const results = flattenResult({ batch, outcome: await inner.send(batch, signal) });
    const parts = await Promise.all(results.map((part) => divideAndSend(part, signal)));
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only.outcome : { kind: "mixed", parts };
  };
  const divideAndSend = async (result: BatchResult, signal: AbortSignal): Promise<BatchResult> => {
    const { batch } = result;
    if (isTooLarge(result)) {
      return sendReduced(result, signal);
    }
    if (!isDivisible(result)) {
      return result;
    }
    const middle = Math.ceil(batch.runs.length / 2);
    const halves = [
      batch.withRuns(batch.runs.slice(0, middle)),
      batch.withRuns(batch.runs.slice(middle)),
    ];
    const parts = await Promise.all(
      halves.map(async (half) => ({ batch: half, outcome: await send(half, signal) })),
    );
    return { batch, outcome: { kind: "mixed", parts } };
  };
  /**
   * Sends the run before its attachments and stops at the first failure, because the server does not accept attachments
   * of a run that it does not have.
   */
  const sendWithSeparateAttachments = async (
    { batch }: BatchResult,
    batches: readonly Batch[],
    signal: AbortSignal,
  ): Promise<BatchResult> => {
    const parts: BatchResult[] = [];
    for (const batchToSend of batches) {
      parts.push(
        ...flattenResult({ batch: batchToSend, outcome: await send(batchToSend, signal) }),
      );
      if (parts.some(({ outcome }) => outcome.kind !== "delivered")) {
        break;
      }
    }
    const firstFailure = parts.find(({ outcome }) => outcome.kind !== "delivered");
    const delivered: BatchResult = {
      batch: batch.combineBatches(parts.map((part) => part.batch)),
      outcome: parts[0]?.outcome ?? { kind: "delivered" },
    };
    const combinedResult =
      firstFailure === undefined ? delivered : { batch, outcome: firstFailure.outcome };
    return { batch, outcome: { kind: "mixed", parts: [combinedResult] } };
  };
  /**
   * Sends the smaller batches one after the other, because a server that accepts only single runs needs a run's start
   * before its end.
   */
  const sendReduced = async (result: BatchResult, signal: AbortSignal): Promise<BatchResult> => {
    const batches = result.batch.separateAttachments();
    if (batches.length > 0) {
      return sendWithSeparateAttachments(result, batches, signal);
    }
    const parts: BatchResult[] = [];
    for (const batch of result.batch.splitSingleRun()) {
      parts.push({ batch, outcome: await send(batch, signal) });
    }
    return parts.length === 0 ? result : { batch: result.batch, outcome: { kind: "mixed", parts } };
  };
  return { send };
}

const isTooLarge = ({ batch, outcome }: BatchResult): boolean =>
  batch.runs.length === 1 && outcome.kind === "rejected" && outcome.rejection.status === 413;

const isDivisible = ({ batch, outcome }: BatchResult): boolean =>
  batch.runs.length > 1 &&
  (outcome.kind === "unwritable" ||
    (outcome.kind === "rejected" && divisibleStatuses.has(outcome.rejection.status ?? 0)));
