import { toVisibleText } from "./visible-text.ts";

/** The JSON of a value, shortened for display. */
export interface JsonText {
  readonly text: string;
  /** The number of characters that were cut off at the end. */
  readonly omittedChars: number;
}

/** Most browsers can display this many characters without a noticeable pause. */
const maxJsonChars = 100_000;

/** Formats a value as indented JSON of at most `limit` characters. */
export function toJsonText(value: unknown, limit = maxJsonChars): JsonText {
  const json = formatJson(value);
  return {
    text: toVisibleText(json.slice(0, limit)),
    omittedChars: Math.max(0, json.length - limit),
  };
}

/** Formats a value as indented JSON, without a limit. */
export const formatJson = (value: unknown): string => JSON.stringify(value, undefined, 2) ?? "";
