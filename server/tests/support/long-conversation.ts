import { createHash } from "node:crypto";
import type { RunBatch } from "../../src/runs/run-record.ts";
import { ChunkedSender } from "./chunked-runs.ts";
import { someMicros, wireRun } from "./wire-runs.ts";

/** A text that compresses like prose, not like a text that repeats itself. */
const writeProse = (seed: number): string =>
  Array.from({ length: 12 }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest("base64").replaceAll(/[+/=]/g, " "),
  ).join(" ");

export const createMessages = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: writeProse(index),
  }));

/**
 * The runs of a conversation in one trace, the root first. The run of each turn has all messages before it, as a chat
 * sends them.
 */
export function createConversation(turns: number): readonly ReturnType<typeof wireRun>[] {
  const messages = createMessages(2 * turns);
  const extra = { metadata: { thread_id: "one", deployment: writeProse(-1) } };
  const root = wireRun({ inputs: { question: "?" }, extra });
  return [
    root,
    ...Array.from({ length: turns }, (_, turn) =>
      wireRun({
        parent: root,
        micros: someMicros + turn + 1,
        inputs: { model: "m", messages: messages.slice(0, 2 * turn + 1) },
        outputs: { message: messages[2 * turn + 1] },
        extra,
      }),
    ),
  ];
}

/** One batch for each run, as a client with content deduplication sends them. */
export function createConversationBatches(
  tenantId: string,
  runs: readonly ReturnType<typeof wireRun>[],
): readonly RunBatch[] {
  const sender = new ChunkedSender(tenantId);
  return runs.map((run) => sender.createBatch([{ run }]));
}
