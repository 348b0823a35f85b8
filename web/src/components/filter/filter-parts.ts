import { toFilterTokens } from "./filter-tokens.ts";

/** Splits a filter into conditions that must all be true: the arguments of its outermost `and`, or the whole filter. */
export function toFilterParts(filter: string): readonly string[] {
  const text = filter.trim();
  const tokens = toFilterTokens(text);
  const [name, open] = tokens;
  if (name?.text !== "and" || open?.text !== "(" || tokens.at(-1)?.text !== ")") {
    return text === "" ? [] : [text];
  }
  const parts: string[] = [];
  let depth = 0;
  let from = open.to;
  for (const { kind, text: mark, from: at, to } of tokens) {
    if (kind !== "mark") {
      continue;
    }
    if (mark === "(" || mark === "[") {
      depth += 1;
    } else if (mark === ")" || mark === "]") {
      depth -= 1;
      if (depth === 0) {
        if (to !== text.length) {
          return [text]; // Text follows the `and`: the filter is incomplete and is kept whole.
        }
        parts.push(text.slice(from, at).trim());
      }
    } else if (depth === 1) {
      parts.push(text.slice(from, at).trim());
      from = to;
    }
  }
  return depth === 0 ? parts.filter((part) => part !== "") : [text];
}

/** Joins conditions into a filter that requires all of them. */
export const joinFilterParts = (parts: readonly string[]): string =>
  parts.length > 1 ? `and(${parts.join(", ")})` : (parts[0] ?? "");

/** Adds a condition to a filter. Conditions that `replaces` selects are removed. */
export const withFilterPart = (
  filter: string,
  part: string,
  replaces: (part: string) => boolean = (existing) => existing === part,
): string =>
  joinFilterParts([...toFilterParts(filter).filter((existing) => !replaces(existing)), part]);

/** Removes the conditions that `isRemoved` selects. */
export const withoutFilterParts = (filter: string, isRemoved: (part: string) => boolean): string =>
  joinFilterParts(toFilterParts(filter).filter((part) => !isRemoved(part)));

/** The field of a simple condition such as `eq(field, value)`; `undefined` for any other condition. */
export function fieldOfPart(part: string): string | undefined {
  const [name, open, field, comma] = toFilterTokens(part);
  return name?.kind === "name" &&
    open?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === ","
    ? field.text
    : undefined;
}

/** The symbol shown for each comparator. */
const symbols: Readonly<Record<string, string>> = {
  eq: "=",
  neq: "≠",
  gt: ">",
  gte: "≥",
  lt: "<",
  lte: "≤",
  has: "has",
  like: "like",
  search: "contains",
  in: "in",
};

/** Shortens a simple condition for a chip: `status = error`. Any other condition is returned unchanged. */
export function describePart(part: string): string {
  const tokens = toFilterTokens(part);
  const [name, open, field, comma, value, close, ...following] = tokens;
  const symbol = symbols[name?.text ?? ""];
  if (name?.text === "search" && field?.kind === "text" && comma?.text === ")") {
    return `contains “${field.text}”`;
  }
  const isSimple =
    symbol !== undefined &&
    open?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === "," &&
    value !== undefined &&
    value.kind !== "mark" &&
    close?.text === ")" &&
    following.length === 0;
  return isSimple ? `${field.text} ${symbol} ${value.text}` : part;
}
