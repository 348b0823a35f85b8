import { toFilterTokens } from "./filter-tokens.ts";

/** The conditions that a filter asks for all of: the parts of its outermost `and`, or itself. */
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
          return [text]; // More follows: it is no filter yet, and shown as it is.
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

/** The filter that asks for all of these conditions. */
export const joinFilterParts = (parts: readonly string[]): string =>
  parts.length > 1 ? `and(${parts.join(", ")})` : (parts[0] ?? "");

/** A filter with one more condition, in the place of those that it takes the place of. */
export const withFilterPart = (
  filter: string,
  part: string,
  replaces: (part: string) => boolean = (one) => one === part,
): string => joinFilterParts([...toFilterParts(filter).filter((one) => !replaces(one)), part]);

/** A filter without some of its conditions. */
export const withoutFilterParts = (filter: string, isGone: (part: string) => boolean): string =>
  joinFilterParts(toFilterParts(filter).filter((part) => !isGone(part)));

/** Which field a condition is about; `undefined` where it is about more than one, or none. */
export function fieldOfPart(part: string): string | undefined {
  const [name, open, field, comma] = toFilterTokens(part);
  return name?.kind === "name" &&
    open?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === ","
    ? field.text
    : undefined;
}

const signs: Readonly<Record<string, string>> = {
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

/** A condition in fewer marks, for a chip: `status = error`. One that is no simple one stays as it is. */
export function describePart(part: string): string {
  const tokens = toFilterTokens(part);
  const [name, open, field, comma, value, close, ...rest] = tokens;
  const sign = signs[name?.text ?? ""];
  if (name?.text === "search" && field?.kind === "text" && comma?.text === ")") {
    return `contains “${field.text}”`;
  }
  const isSimple =
    sign !== undefined &&
    open?.text === "(" &&
    field?.kind === "name" &&
    comma?.text === "," &&
    value !== undefined &&
    value.kind !== "mark" &&
    close?.text === ")" &&
    rest.length === 0;
  return isSimple ? `${field.text} ${sign} ${value.text}` : part;
}
