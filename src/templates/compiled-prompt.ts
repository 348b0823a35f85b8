import type { PromptSource } from "../model/resources/runtime-prompt.ts";
import type { KeyValues } from "../model/run.ts";

/** Roles of messages. LangChain's `human` and `ai` are `user` and `assistant`. */
export const promptRoles = ["system", "developer", "user", "assistant", "tool"] as const;

/** The role of a message. */
export type PromptRole = (typeof promptRoles)[number];

/** A part of a message. */
export type PromptPart =
  | {
      readonly type: "text";
      readonly text: string;
      /** Further members for a provider, such as `cache_control`. */
      readonly extra?: KeyValues | undefined;
    }
  | {
      readonly type: "image";
      /** URL of the image, or the image itself as a `data:` URL. */
      readonly url: string;
      readonly detail?: string | undefined;
    }
  /** A part in the form of one provider, such as a document. It is sent unchanged. */
  | { readonly type: "other"; readonly value: KeyValues };

/** A tool call in a message of the assistant. */
export interface PromptToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: KeyValues;
}

/** A message in which the variables were replaced, in a form that does not depend on the provider. */
export interface PromptMessage {
  readonly role: PromptRole;
  readonly content: string | readonly PromptPart[];
  /** Name of the participant, or of the tool. */
  readonly name?: string | undefined;
  /** Only in messages of the assistant. */
  readonly toolCalls?: readonly PromptToolCall[] | undefined;
  /** The call that a message of a tool responds to. */
  readonly toolCallId?: string | undefined;
}

/** The schema that the response to a prompt must match. */
export interface PromptSchema {
  readonly name: string;
  readonly description?: string | undefined;
  /** A JSON Schema. */
  readonly schema: KeyValues;
  readonly strict?: boolean | undefined;
}

/** Identifies the prompt that a {@link CompiledPrompt} was compiled from. */
export interface PromptIdentity {
  readonly owner: string;
  readonly repo: string;
  /** Absent if the prompt is a fallback. */
  readonly commitHash?: string | undefined;
  readonly source?: PromptSource | undefined;
}

/** A prompt whose variables have values. */
export interface CompiledPrompt {
  readonly messages: readonly PromptMessage[];
  /** Absent unless the prompt is structured. */
  readonly schema?: PromptSchema | undefined;
  /** Parameters of the model that the prompt was saved with, without secrets; absent if there is no model. */
  readonly model?: KeyValues | undefined;
  /** Absent if only a manifest was compiled. */
  readonly prompt?: PromptIdentity | undefined;
}

/** Whether a value is an object with members, and not a list. */
export const isObject = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the text of a message; `undefined` if a part is not a text. */
export function readText({ content }: PromptMessage): string | undefined {
  if (typeof content === "string") {
    return content;
  }
  return content.every((part) => part.type === "text")
    ? content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : undefined;
}

/** An object type without the members that are `undefined`. */
type Defined<Shape> = { readonly [Name in keyof Shape]: Exclude<Shape[Name], undefined> };

/** Copies an object without the members that are `undefined`. */
export const omitUndefined = <Shape extends object>(value: Shape): Defined<Shape> =>
  Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Defined<Shape>;
