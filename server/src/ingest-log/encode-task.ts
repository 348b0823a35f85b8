import { setImmediate as nextTurn } from "node:timers/promises";
import type { RunBatch } from "../runs/run-record.ts";
import type { WorkTask } from "../storage/work-threads.ts";
import { countOperations, splitBatch, unpackBatch } from "./batch-parts.ts";
import { logLimits } from "./log-limits.ts";
import { encodeBatch } from "./message-format.ts";

/** A batch as messages of the log. */
export interface EncodedBatch {
  readonly messages: readonly Uint8Array<ArrayBuffer>[];
  /** Operations in the batch. */
  readonly operations: number;
}

/** Task for a worker thread: encodes a large batch, which a worker thread has parsed, as messages. */
export interface EncodeTask extends WorkTask<EncodedBatch> {
  readonly kind: "logMessages";
  readonly tenantId: string;
  /** The content and the payloads of a `PackedBatch`. */
  readonly chunks: readonly [packed: Uint8Array<ArrayBuffer>, bodies: Uint8Array<ArrayBuffer>];
}

/** Performs an {@link EncodeTask}, on a worker thread. */
export function encodePacked({ tenantId, chunks: [packed, bodies] }: EncodeTask): EncodedBatch {
  const unpacked = unpackBatch({ packed, bodies });
  return {
    messages: splitBatch(unpacked, logLimits.messageBytes).map((part) =>
      encodeBatch(tenantId, part),
    ),
    operations: countOperations(unpacked),
  };
}

/** Encodes a batch as messages. Lets the event loop handle other work between two messages. */
export async function encodeInTurns(tenantId: string, batch: RunBatch): Promise<EncodedBatch> {
  const messages: Uint8Array<ArrayBuffer>[] = [];
  for (const part of splitBatch(batch, logLimits.messageBytes)) {
    if (messages.length > 0) {
      await nextTurn();
    }
    messages.push(encodeBatch(tenantId, part));
  }
  return { messages, operations: countOperations(batch) };
}
