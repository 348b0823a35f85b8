import type { ChatMessage, ChatPart } from "./chat-messages.ts";

/** A part of a message. A tool call contains its results. */
export type ShownPart =
  | Exclude<ChatPart, { readonly kind: "toolCall" }>
  | (Extract<ChatPart, { readonly kind: "toolCall" }> & { readonly results: readonly unknown[] });

/** A message in which each tool call contains its results. */
export interface ShownMessage extends Omit<ChatMessage, "parts"> {
  readonly parts: readonly ShownPart[];
}

/**
 * Moves the result of each tool to the latest call before it with the same id. Messages that consist only of moved
 * results are left out. A result without an id, or without its call, stays where it is.
 */
export function placeToolResults(messages: readonly ChatMessage[]): readonly ShownMessage[] {
  const resultsByCall = new Map<string, unknown[]>();
  return messages
    .map(({ parts, ...message }) => ({
      ...message,
      wasEmpty: parts.length === 0,
      parts: parts.flatMap((part): readonly ShownPart[] => {
        if (part.kind === "toolCall") {
          const results: unknown[] = [];
          if (part.id !== "") {
            resultsByCall.set(part.id, results);
          }
          return [{ ...part, results }];
        }
        const results = part.kind === "toolResult" ? resultsByCall.get(part.id) : undefined;
        if (part.kind === "toolResult" && results !== undefined) {
          results.push(part.value);
          return [];
        }
        return [part];
      }),
    }))
    .filter(({ parts, wasEmpty }) => parts.length > 0 || wasEmpty)
    .map(({ wasEmpty: _wasEmpty, ...message }) => message);
}
