import { formatCompactJson } from "../../components/text/json-text.ts";
import type { ChatMessage } from "../../components/payload/chat-messages.ts";

/** The messages of one turn, without messages that earlier turns already show. */
export interface TurnMessages {
  /** Messages of the inputs before {@link added}: the conversation so far, which the program sends again. */
  readonly earlier: readonly ChatMessage[];
  /** The new messages of the inputs. */
  readonly added: readonly ChatMessage[];
  /** The messages of the outputs that the inputs do not contain. */
  readonly answer: readonly ChatMessage[];
}

/**
 * Divides the messages of a turn. Most programs send the whole conversation with each request, and some return the
 * whole conversation. In a turn other than the first, the messages up to the last answer of the assistant belong to
 * earlier turns.
 */
export function divideMessages(
  inputs: readonly ChatMessage[],
  outputs: readonly ChatMessage[],
  isFirstTurn: boolean,
): TurnMessages {
  const lastAnswer = isFirstTurn
    ? -1
    : inputs.findLastIndex(({ role }, index) => role === "assistant" && index < inputs.length - 1);
  const earlier = inputs.slice(0, lastAnswer + 1);
  const added = inputs.slice(lastAnswer + 1);
  return { earlier, added, answer: removeInputs(outputs, inputs) };
}

/** Removes the messages of the outputs up to the last message of the inputs, if the outputs repeat it. */
function removeInputs(
  outputs: readonly ChatMessage[],
  inputs: readonly ChatMessage[],
): readonly ChatMessage[] {
  const lastInput = inputs.at(-1);
  if (lastInput === undefined || outputs.length < 2) {
    return outputs;
  }
  const lastInputText = formatCompactJson(lastInput);
  const repeatedIndex = outputs.findLastIndex(
    (message, index) => index < outputs.length - 1 && formatCompactJson(message) === lastInputText,
  );
  return outputs.slice(repeatedIndex + 1);
}
