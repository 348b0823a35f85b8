import type { KeyValues } from "millrace/model";
import { isObject } from "../model/json-values.ts";

/**
 * Converts Langfuse's inputs, which can be any value, to an object. A list of messages becomes the member `messages`,
 * and any other value that is not an object becomes the member `input`.
 */
export const toInputs = (value: unknown): KeyValues => toPayload(value, "input") ?? {};

/** Converts outputs in the same way, with the member `output`; `undefined` if there are none. */
export const toOutputs = (value: unknown): KeyValues | undefined => toPayload(value, "output");

function toPayload(value: unknown, name: string): KeyValues | undefined {
  const content = parseText(value);
  if (content === undefined || content === null) {
    return undefined;
  }
  if (isObject(content)) {
    return content;
  }
  const isMessages =
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((item) => isObject(item) && "role" in item);
  return isMessages ? { messages: content } : { [name]: content };
}

/** Converts metadata, which can be any value, to an object. */
export function toMetadata(value: unknown): KeyValues {
  const content = parseText(value);
  if (content === undefined || content === null) {
    return {};
  }
  return isObject(content) ? content : { metadata: content };
}

/** Parses a JSON text, as version 4 of Langfuse returns it. Any other value is returned unchanged. */
function parseText(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) {
    return value;
  }
  try {
    const json: unknown = JSON.parse(value);
    return json;
  } catch {
    return value;
  }
}
