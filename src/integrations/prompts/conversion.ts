import { ValidationError } from "../../main/index.ts";
import { readText } from "../../templates/compiled-prompt.ts";
import type {
  CompiledPrompt,
  PromptMessage,
  PromptSchema,
} from "../../templates/compiled-prompt.ts";
import { describe } from "../../templates/message-values.ts";

/**
 * Checks the argument of a conversion.
 *
 * @throws `ValidationError` if it is not a compiled prompt.
 */
export function readMessages(
  conversion: string,
  compiled: CompiledPrompt,
): readonly PromptMessage[] {
  // A caller without types may pass a prompt that was not compiled.
  const messages: unknown = (compiled as CompiledPrompt | undefined)?.messages;
  if (!Array.isArray(messages)) {
    throw new ValidationError(
      `${conversion} takes a compiled prompt, not ${describe(compiled)}. Call compile(prompt, variables) first`,
    );
  }
  return messages as readonly PromptMessage[];
}

export const isSystem = ({ role }: PromptMessage): boolean =>
  role === "system" || role === "developer";

/**
 * Returns the text of a message that can have no other parts.
 *
 * @throws `ValidationError` if it has a part that is not a text.
 */
export function requireText(message: PromptMessage): string {
  const text = readText(message);
  if (text === undefined) {
    throw new ValidationError(
      `A message with the role ${message.role} can contain only text for this provider. Move its other parts to a message of the user`,
    );
  }
  return text;
}

/** @throws `ValidationError` if the message of a tool does not name the call that it responds to. */
export function requireCallId({ toolCallId }: PromptMessage): string {
  if (toolCallId === undefined) {
    throw new ValidationError(
      "A message with the role tool has no toolCallId, the id of the call that it responds to",
    );
  }
  return toolCallId;
}

/**
 * Returns the name of the tool that a message is from: its own, or that of the call that it responds to.
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
      "A message with the role tool has no name, and no message before it has the call that it responds to",
    );
  }
  return name;
}

/**
 * Joins consecutive messages of tools. Providers require the results of one message's calls in one message.
 *
 * @param readResults - returns the list of results in a converted message, or `undefined` if it is another message
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

/** Parts of a `data:` address. */
export interface InlineData {
  readonly mediaType: string;
  /** The content in base64. */
  readonly data: string;
}

/** Returns the content of a `data:` address in base64; `undefined` for any other address. */
export function readInlineData(url: string): InlineData | undefined {
  const header = /^data:([^,;]+)(?:;[^,;]*)*;base64,/i.exec(url);
  return header === null
    ? undefined
    : { mediaType: header[1] ?? "", data: url.slice(header[0].length) };
}

/** Returns the schema as an object that the caller may change. */
export const copySchema = ({ schema }: PromptSchema): Record<string, unknown> => ({ ...schema });
