import { toVisibleText } from "./visible-text.ts";

/** A value as a page shows it. */
export interface JsonText {
  readonly text: string;
  /** Characters that were left out at the end. */
  readonly omitted: number;
}

/** Characters of one value that a page lays out without a pause. */
const jsonTextLimit = 100_000;

/** A value as indented JSON, at most `limit` characters of it. */
export function toJsonText(value: unknown, limit = jsonTextLimit): JsonText {
  const whole = formatJson(value);
  return {
    text: toVisibleText(whole.slice(0, limit)),
    omitted: Math.max(0, whole.length - limit),
  };
}

/** A value as indented JSON, whole. */
export const formatJson = (value: unknown): string => JSON.stringify(value, undefined, 2) ?? "";
