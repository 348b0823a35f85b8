import type { KeyValues } from "millrace/model";
import { isObject } from "../model/json-values.ts";

/** Inputs of a run must be an object, but those of Langfuse can be any value. Lists of messages get the usual name. */
export const toInputs = (value: unknown): KeyValues => toPayload(value, "input") ?? {};

/** Outputs of a run; `undefined` if there are none. */
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

/** Metadata must be an object, too. */
export function toMetadata(value: unknown): KeyValues {
  const content = parseText(value);
  if (content === undefined || content === null) {
    return {};
  }
  return isObject(content) ? content : { metadata: content };
}

/** Version 4 of Langfuse returns values as the JSON text that was stored. Other texts are values themselves. */
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
