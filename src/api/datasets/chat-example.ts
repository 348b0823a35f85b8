import { ValidationError } from "../../model/errors.ts";
import type { KeyValues } from "../../model/run.ts";
import type { ChatMessage } from "./example-options.ts";

/**
 * Builds the inputs and outputs of an example for a dataset of the data type `chat`.
 *
 * @throws {@link ValidationError} if there is no message, or a message is not an object.
 */
export function toChat(
  messages: readonly ChatMessage[],
  reply: ChatMessage | undefined,
): { readonly inputs: KeyValues; readonly outputs: KeyValues | undefined } {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new ValidationError("messages must contain at least one message");
  }
  const input = (messages as readonly ChatMessage[]).map(toMessage);
  return {
    inputs: { input },
    outputs: reply === undefined ? undefined : { output: toMessage(reply) },
  };
}

function toMessage(message: ChatMessage): KeyValues {
  if (typeof message !== "object" || message === null) {
    throw new ValidationError(`A message must be an object, not of type ${typeof message}`);
  }
  const type = readMessageType(message);
  if (type === undefined) {
    return message as KeyValues;
  }
  const { content, additional_kwargs: extra } = message;
  const hasExtra = typeof extra === "object" && extra !== null && Object.keys(extra).length > 0;
  return { type, data: { content, ...(hasExtra && { additional_kwargs: { ...extra } }) } };
}

/**
 * Returns the type of a LangChain message, which has a method `getType` or `_getType`; `undefined` for any other
 * message.
 */
function readMessageType(message: ChatMessage): string | undefined {
  for (const name of ["getType", "_getType"] as const) {
    const method: unknown = Reflect.get(message, name);
    if (typeof method === "function") {
      return String(Reflect.apply(method, message, []));
    }
  }
  return undefined;
}
