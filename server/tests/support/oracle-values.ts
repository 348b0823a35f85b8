import type { Filter, Literal } from "../../src/filter/ast.ts";
import { parseTime } from "../../src/model/parse-time.ts";
import type { WireObject } from "./store-fixture.ts";

export type Comparison = Filter & { readonly kind: "comparison" };

export const isObject = (value: unknown): value is WireObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The entries of an object with their paths; lists do not add a step to the path. */
export function flatten(value: unknown): [string, unknown][] {
  const walk = (path: string, inner: unknown): [string, unknown][] => {
    const own: [string, unknown] = [path, inner];
    if (Array.isArray(inner)) {
      return [own, ...inner.flatMap((item) => walk(path, item))];
    }
    return isObject(inner)
      ? [own, ...Object.entries(inner).flatMap(([key, item]) => walk(`${path}.${key}`, item))]
      : [own];
  };
  return isObject(value) ? Object.entries(value).flatMap(([key, item]) => walk(key, item)) : [];
}

const units: Readonly<Record<string, number>> = { ms: 1_000, s: 1_000_000, m: 60_000_000 };

/** An operand in the unit of its field. */
function inUnit(name: string, value: unknown): unknown {
  if (name.endsWith("_time") && value !== null) {
    return parseTime(value);
  }
  if ((name === "latency" || name === "first_token") && value !== null) {
    const [, digits, unit = "s"] =
      /^([\d.]+)(ms|s|m)?$/.exec(JSON.stringify(value).replaceAll('"', "")) ?? [];
    return Math.round(Number(digits) * (units[unit] ?? 0));
  }
  return /^(id|.*_id)$/.test(name) && typeof value === "string" && name !== "thread_id"
    ? value.toLowerCase()
    : value;
}

export function compareScalar(value: unknown, { comparator, field, operand }: Comparison): boolean {
  const expected = valuesOf(operand).map((one) => inUnit(field?.name ?? "", one));
  const [first] = expected;
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return expected.includes(value);
    case "neq":
      return value !== first;
    case "search":
    case "exists":
      return typeof value === "string" && containsIgnoringCase(value, String(first));
    case "like":
      return typeof value === "string" && isLike(value, String(first));
    default:
      return value !== null && inOrder(comparator, Number(value) - Number(first));
  }
}

export function compareJson(value: unknown, { comparator, operand }: Comparison): boolean {
  const wanted = valuesOf(operand);
  const [first] = wanted;
  switch (comparator) {
    case "eq":
    case "has":
    case "in":
      return wanted.some((one) => equals(value, one));
    case "neq":
      return !equals(value, first);
    case "search":
    case "exists":
      return typeof value === "string" && containsIgnoringCase(value, String(first));
    case "like":
      return typeof value === "string" && isLike(value, String(first));
    default:
      return typeof value === typeof first && typeof value === "string"
        ? inOrder(comparator, compareTexts(value, String(first)))
        : typeof value === "number" &&
            typeof first === "number" &&
            inOrder(comparator, value - first);
  }
}

/** Compares values: a number or boolean equals its text. */
const equals = (value: unknown, wanted: unknown): boolean =>
  value === wanted ||
  (typeof wanted === "string" &&
    (typeof value === "number" || typeof value === "boolean") &&
    String(value) === wanted) ||
  (wanted === null && value === undefined);

function inOrder(comparator: string, difference: number): boolean {
  const holdsFor: Readonly<Record<string, boolean>> = {
    gt: difference > 0,
    gte: difference >= 0,
    lt: difference < 0,
    lte: difference <= 0,
  };
  return holdsFor[comparator] ?? false;
}

/** Compares by code points, which is the order of UTF-8 bytes. */
function compareTexts(left: string, right: string): number {
  const [a, b] = [Array.from(left), Array.from(right)];
  const index = a.findIndex((letter, at) => letter !== b[at]);
  return index === -1
    ? a.length - b.length
    : (a[index]?.codePointAt(0) ?? 0) - (b[index]?.codePointAt(0) ?? -1);
}

const lower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
export const containsIgnoringCase = (text: string, part: string): boolean =>
  lower(text).includes(lower(part));

function isLike(text: string, pattern: string): boolean {
  const isPlain = /^%?[^%_]*%?$/.test(pattern);
  const holes: Readonly<Record<string, string>> = { "%": "[^]*", _: "[^]" };
  const source = Array.from(pattern)
    .map((letter) => holes[letter] ?? letter.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&"))
    .join("");
  // Patterns with a wildcard in the middle are matched only against the text before its first NUL.
  return new RegExp(`^${source}$`, "u").test(isPlain ? text : (text.split("\0")[0] ?? ""));
}

export function contains(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && wanted.every((one) => value.some((item) => contains(item, one)));
  }
  if (isObject(wanted)) {
    return (
      isObject(value) &&
      Object.entries(wanted).every(
        ([key, one]) => Object.hasOwn(value, key) && contains(value[key], one),
      )
    );
  }
  return value === wanted;
}

export const textOf = (literal: Literal): string => (literal.kind === "text" ? literal.text : "");

export function valuesOf(literal: Literal): unknown[] {
  switch (literal.kind) {
    case "text":
      return [literal.text];
    case "number":
      return [literal.number];
    case "boolean":
      return [literal.boolean];
    case "null":
      return [null];
    case "list":
      return literal.items.flatMap(valuesOf);
  }
}
