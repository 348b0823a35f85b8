import { toVisibleText } from "./visible-text.ts";

/** The JSON of a value, shortened for display. */
export interface JsonText {
  readonly text: string;
  /** The number of characters that were cut off at the end. */
  readonly omittedChars: number;
}

/** The default maximum number of characters. Most browsers can display that many without a noticeable pause. */
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
export const formatJson = (value: unknown): string =>
  isDeep(value) ? joinDeepJson(value, true) : (JSON.stringify(value, undefined, 2) ?? "");

/** Formats a value as JSON in one line. */
export const formatCompactJson = (value: unknown): string =>
  isDeep(value) ? joinDeepJson(value, false) : (JSON.stringify(value) ?? "");

/**
 * The maximum number of levels of a value that `JSON.stringify` formats. The function is recursive, so more levels
 * could overflow the call stack. This is also the maximum number of levels by which lines are indented, because
 * indentation makes the text grow with the square of the levels.
 */
const maxIndentedLevels = 200;

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

/** Whether a value has more than {@link maxIndentedLevels} levels. */
function isDeep(root: unknown): boolean {
  const stack = isContainer(root) ? [{ value: root, level: 1 }] : [];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (item.level > maxIndentedLevels) {
      return true;
    }
    for (const member of Object.values(item.value) as readonly unknown[]) {
      if (isContainer(member)) {
        stack.push({ value: member, level: item.level + 1 });
      }
    }
  }
  return false;
}

/** A part of the JSON that is still to be written: a finished text, or a value. */
type PendingJson = string | { readonly value: unknown; readonly level: number };

/** Formats a value that was parsed from JSON, without recursion. */
function joinDeepJson(root: unknown, isIndented: boolean): string {
  const chunks: string[] = [];
  const pending: PendingJson[] = [{ value: root, level: 0 }];
  for (let pendingPart = pending.pop(); pendingPart !== undefined; pendingPart = pending.pop()) {
    if (typeof pendingPart === "string") {
      chunks.push(pendingPart);
      continue;
    }
    const { value, level } = pendingPart;
    if (!isContainer(value) || Object.keys(value).length === 0) {
      chunks.push(JSON.stringify(value) ?? "null");
      continue;
    }
    const lineBreak = (levels: number): string =>
      isIndented ? `\n${"  ".repeat(Math.min(levels, maxIndentedLevels))}` : "";
    const isList = Array.isArray(value);
    const parts: PendingJson[] = [isList ? "[" : "{"];
    for (const [index, [key, member]] of Object.entries(value).entries()) {
      const name = isList ? "" : `${JSON.stringify(key)}:${isIndented ? " " : ""}`;
      parts.push(`${index === 0 ? "" : ","}${lineBreak(level + 1)}${name}`, {
        value: member,
        level: level + 1,
      });
    }
    parts.push(`${lineBreak(level)}${isList ? "]" : "}"}`);
    for (const part of parts.toReversed()) {
      pending.push(part);
    }
  }
  return chunks.join("");
}
