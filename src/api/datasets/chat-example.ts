import { ValidationError } from "../../model/errors.ts";
import type { KeyValues } from "../../model/run.ts";
import type { ChatMessage } from "./example-options.ts";

/**
 * Inputs and outputs of an example in the platform's format of chats.
 *
 * @throws {@link ValidationError} there is no message, or one is no object.
 */
export function toChat(
  messages: readonly ChatMessage[],
  answer: ChatMessage | undefined,
): { readonly inputs: KeyValues; readonly outputs: KeyValues | undefined } {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new ValidationError("messages must hold at least one message");
  }
  const input = (messages as readonly ChatMessage[]).map(toMessage);
  return {
    inputs: { input },
    outputs: answer === undefined ? undefined : { output: toMessage(answer) },
  };
}

function toMessage(message: ChatMessage): KeyValues {
  if (typeof message !== "object" || message === null) {
    throw new ValidationError(`A message must be an object, not of type ${typeof message}`);
  }
  const type = typeOf(message);
  if (type === undefined) {
    return message as KeyValues;
  }
  const { content, additional_kwargs: more } = message;
  const hasMore = typeof more === "object" && more !== null && Object.keys(more).length > 0;
  return { type, data: { content, ...(hasMore && { additional_kwargs: { ...more } }) } };
}

/** The one that LangChain's messages of today have, or the one of before; other messages have neither. */
function typeOf(message: ChatMessage): string | undefined {
  for (const name of ["getType", "_getType"] as const) {
    const method: unknown = Reflect.get(message, name);
    if (typeof method === "function") {
      return String(Reflect.apply(method, message, []));
    }
  }
  return undefined;
}
