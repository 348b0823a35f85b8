import { mergePayloads } from "../runs/merge-payloads.ts";
import { previewLastMessage } from "./message-preview.ts";
import type { ThreadMessage } from "./thread.ts";

/**
 * Returns the beginning of the last message of a turn, given the payloads of its run: the answer, the error, or, while
 * the turn has no answer yet, the question.
 */
export function findLastMessage(
  bodies: readonly Uint8Array[],
  hasError: boolean,
): ThreadMessage | null {
  const members = mergePayloads(bodies, messageMembers);
  const sources = hasError
    ? (["error", "outputs", "inputs"] as const)
    : (["outputs", "inputs"] as const);
  for (const source of sources) {
    const text = previewLastMessage(members.get(source));
    if (text !== undefined) {
      // The lines after the first one are the stack trace.
      return { source, text: source === "error" ? (text.split("\n", 1)[0] ?? "") : text };
    }
  }
  return null;
}

const messageMembers: ReadonlySet<string> = new Set(["inputs", "outputs", "error"]);
