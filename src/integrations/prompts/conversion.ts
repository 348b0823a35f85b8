import { ValidationError } from "../../main/index.ts";
import { readText } from "../../templates/compiled-prompt.ts";
import type {
  CompiledPrompt,
  PromptMessage,
  PromptSchema,
} from "../../templates/compiled-prompt.ts";
import { describe } from "../../templates/message-values.ts";

/**
 * Checks the argument of a conversion, and returns its messages.
 *
 * @throws `ValidationError` if it is not a compiled prompt.
 */
export function readMessages(
  conversion: string,
  compiled: CompiledPrompt,
): readonly PromptMessage[] {
  // A JavaScript caller may pass a prompt that was not compiled.
  const messages: unknown = (compiled as CompiledPrompt | undefined)?.messages;
  if (!Array.isArray(messages)) {
    throw new ValidationError(
      `${conversion} takes a compiled prompt, not ${describe(compiled)}. Call compile(prompt, variables) first`,
    );
  }
  return messages as readonly PromptMessage[];
}

/** Whether a message gives instructions to the model. Some models call the role `developer`. */
export const isSystem = ({ role }: PromptMessage): boolean =>
  role === "system" || role === "developer";

/**
 * Returns the text of a message that may contain only text.
 *
 * @throws `ValidationError` if it has a part that is not a text.
 */
export function requireText(message: PromptMessage): string {
  const text = readText(message);
  if (text === undefined) {
    throw new ValidationError(
      `A message with the role ${message.role} can contain only text for this provider. Move its other parts to a message with the role user`,
    );
  }
  return text;
}

/** @throws `ValidationError` if the message of a tool does not contain the id of the call that it responds to. */
export function requireCallId({ toolCallId }: PromptMessage): string {
  if (toolCallId === undefined) {
    throw new ValidationError(
      "A message with the role tool has no toolCallId, the id of the call that it responds to",
    );
  }
  return toolCallId;
}

/**
 * Returns the name of the tool that a message comes from: the name in the message, or that in the call to which it
 * responds.
 *
 * @throws `ValidationError` if neither is known.
 */
export function requireToolName(
  message: PromptMessage,
  messages: readonly PromptMessage[],
): string {
  const call = messages
    .flatMap(({ toolCalls }) => toolCalls ?? [])
    .findLast(({ id }) => id === message.toolCallId);
  const name = message.name ?? call?.name;
  if (name === undefined) {
    throw new ValidationError(
      "A message with the role tool has no name, and no earlier message contains the call that it responds to",
    );
  }
  return name;
}

/**
 * Joins consecutive messages of tools, because providers require the results of all tool calls of a message in one
 * message.
 *
 * @param readResults - returns the list of tool results in a converted message; `undefined` for a message that is not
 * from a tool.
 */
export function joinResults<Message>(
  messages: readonly Message[],
  readResults: (message: Message) => unknown[] | undefined,
): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const previous = joined.at(-1);
    const earlier = previous === undefined ? undefined : readResults(previous);
    const results = readResults(message);
    if (earlier !== undefined && results !== undefined) {
      earlier.push(...results);
    } else {
      joined.push(message);
    }
  }
  return joined;
}

/** The content of a `data:` URL. */
export interface InlineData {
  readonly mediaType: string;
  /** The content in base64. */
  readonly data: string;
}

/** Returns the content of a `data:` URL in base64; `undefined` for any other URL. */
export function readInlineData(url: string): InlineData | undefined {
  const header = /^data:([^,;]+)(?:;[^,;]*)*;base64,/i.exec(url);
  return header === null
    ? undefined
    : { mediaType: header[1] ?? "", data: url.slice(header[0].length) };
}

/** Returns the schema as an object that the caller may change. */
export const copySchema = ({ schema }: PromptSchema): Record<string, unknown> => ({ ...schema });
