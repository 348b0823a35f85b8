import { isDeepStrictEqual } from "node:util";
import { computeEditDistance } from "../model/edit-distance.ts";
import { ValidationError } from "../model/errors.ts";
import type { KeyValues } from "../model/run.ts";
import { checkKeys } from "../model/unknown-keys.ts";
import type { KeyTable } from "../model/unknown-keys.ts";

/** The outputs that a scorer judges. */
export interface ScoredOutputs {
  readonly outputs: unknown;
  /** The expected outputs. */
  readonly referenceOutputs?: unknown;
}

/** A score from 0 to 1, or a boolean for passed or failed, optionally with a comment. */
export type OutputScore =
  | number
  | boolean
  | { readonly score: number | boolean; readonly comment?: string };

/** An evaluator that works with any target, because it reads only outputs and reference outputs. */
export interface OutputScorer<Result = OutputScore> {
  readonly name: string;
  readonly evaluate: (args: ScoredOutputs) => Result;
}

/** Options of every built-in scorer. */
export interface ScorerOptions {
  /** The feedback key. @defaultValue the scorer's name */
  readonly key?: string | undefined;
  /**
   * The member of the outputs to judge, such as `answer` or `items.0.name`. It is compared with the same member of the
   * reference outputs.
   *
   * @defaultValue the outputs as a whole; or the only member, if they are an object with one member
   */
  readonly path?: string | undefined;
  /** The expected value, used instead of the reference outputs. */
  readonly expected?: unknown;
}

/** Options of {@link jsonEquality}. */
export interface JsonEqualityOptions extends ScorerOptions {
  /** Paths of members that are not compared. */
  readonly ignore?: readonly string[] | undefined;
}

/** Options of {@link contains}. */
export interface ContainsOptions extends ScorerOptions {
  /** @defaultValue false */
  readonly ignoreCase?: boolean | undefined;
}

/** Options of {@link numericCloseness}. */
export interface NumericOptions extends ScorerOptions {
  /** Largest difference that counts as equal. @defaultValue 0 */
  readonly tolerance?: number | undefined;
  /** Largest difference that counts as equal, as a fraction of the expected number. @defaultValue 0 */
  readonly relativeTolerance?: number | undefined;
}

const scorerKeys: KeyTable<ScorerOptions> = { key: 1, path: 1, expected: 1 };

/** Judges whether the output is the expected one: objects and lists must have equal members, at any depth. */
export const exactMatch = (options: ScorerOptions = {}): OutputScorer =>
  createScorer("exactMatch", options, scorerKeys, (output, expected) =>
    isDeepStrictEqual(output, expected),
  );

/**
 * Judges how similar the output's JSON is to the expected JSON. The score is the fraction of members, at any depth,
 * that are equal. Missing and unexpected members count as different. The comment names the paths that differ.
 */
export function jsonEquality(options: JsonEqualityOptions = {}): OutputScorer {
  const ignored = new Set(options.ignore ?? []);
  return createScorer(
    "jsonEquality",
    options,
    { ...scorerKeys, ignore: 1 },
    (output, expected) => {
      const [outputLeaves, expectedLeaves] = [listLeaves(output), listLeaves(expected)];
      const paths = [...new Set([...expectedLeaves.keys(), ...outputLeaves.keys()])].filter(
        (path) => !ignored.has(path),
      );
      const different = paths.filter(
        (path) =>
          outputLeaves.has(path) !== expectedLeaves.has(path) ||
          !isDeepStrictEqual(outputLeaves.get(path), expectedLeaves.get(path)),
      );
      const score = paths.length === 0 ? 1 : 1 - different.length / paths.length;
      return different.length === 0
        ? { score }
        : { score, comment: `different: ${different.slice(0, 20).join(", ")}` };
    },
    { isWhole: true },
  );
}

/** Judges whether the output, as a text, contains the expected text, or all of several expected texts. */
export const contains = (options: ContainsOptions = {}): OutputScorer =>
  createScorer("contains", options, { ...scorerKeys, ignoreCase: 1 }, (output, expected) => {
    const normalize = options.ignoreCase === true ? toLowerText : toText;
    const text = normalize(output);
    const parts = [expected].flat().map(normalize);
    const missing = parts.filter((part) => !text.includes(part));
    return missing.length === 0
      ? { score: true }
      : { score: false, comment: `missing: ${missing.slice(0, 20).join(", ")}` };
  });

/** Judges whether the output, as a text, matches a regular expression. */
export function matchesRegex(
  pattern: RegExp,
  options: Omit<ScorerOptions, "expected"> = {},
): OutputScorer {
  if (!(pattern instanceof RegExp)) {
    throw new ValidationError("matchesRegex: pass a regular expression, such as /^\\d+$/");
  }
  // With the flags g and y, `test` would continue at the position where the search in the previous row's output ended.
  const stateless = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
  return createScorer("matchesRegex", { ...options, expected: null }, scorerKeys, (output) =>
    stateless.test(toText(output)),
  );
}

/**
 * Judges how close a number is to the expected one. The score is 1 within the tolerance; otherwise it is 1 minus the
 * difference divided by the absolute value of the expected number, and at least 0.
 */
export const numericCloseness = (options: NumericOptions = {}): OutputScorer =>
  createScorer(
    "numericCloseness",
    options,
    { ...scorerKeys, tolerance: 1, relativeTolerance: 1 },
    (output, expected) => {
      const [number, expectedNumber] = [toNumber(output), toNumber(expected)];
      const difference = Math.abs(number - expectedNumber);
      const { tolerance = 0, relativeTolerance = 0 } = options;
      if (difference <= Math.max(tolerance, relativeTolerance * Math.abs(expectedNumber))) {
        return 1;
      }
      return expectedNumber === 0 ? 0 : Math.max(0, 1 - difference / Math.abs(expectedNumber));
    },
  );

/**
 * Maximum number of steps of one comparison: the product of both texts' lengths. That many steps take about a second.
 */
const maxEditSteps = 100_000_000;

/**
 * Judges how similar a text is to the expected one. The score is 1 minus the edit distance divided by the length of the
 * longer text.
 */
export const editSimilarity = (options: ScorerOptions = {}): OutputScorer =>
  createScorer("editSimilarity", options, scorerKeys, (output, expected) => {
    const [text, expectedText] = [toText(output), toText(expected)];
    if (text.length * expectedText.length > maxEditSteps) {
      throw new RangeError(
        `the texts are too long for an edit distance (${text.length} and ${expectedText.length} characters)`,
      );
    }
    const longest = Math.max(text.length, expectedText.length);
    return longest === 0 ? 1 : 1 - computeEditDistance(text, expectedText) / longest;
  });

/**
 * Judges whether the output is valid JSON: a text that can be parsed as JSON, or any value other than a text. It needs
 * no reference outputs.
 */
export const validJson = (options: Omit<ScorerOptions, "expected"> = {}): OutputScorer =>
  createScorer("validJson", { ...options, expected: null }, scorerKeys, (output) => {
    if (typeof output !== "string") {
      return output !== undefined;
    }
    try {
      JSON.parse(output);
      return true;
    } catch (cause) {
      return { score: false, comment: cause instanceof Error ? cause.message : String(cause) };
    }
  });

type Compare<Result> = (output: unknown, expected: unknown) => Result;

/**
 * Creates a scorer from a function that compares an output with the expected value. With `isWhole`, outputs with a
 * single member are compared as an object; otherwise {@link unwrap} replaces them by that member.
 */
// oxlint-disable-next-line max-params -- the calls that create scorers are easier to read with positional arguments
export function createScorer<Options extends ScorerOptions, Result = OutputScore>(
  name: string,
  options: Options,
  keys: KeyTable<Options>,
  compare: Compare<Result>,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): OutputScorer<Result> {
  checkKeys(options, keys, { subject: name, error: ValidationError });
  const { key = name, path } = options;
  const hasExpected = "expected" in options && options.expected !== undefined;
  const select = (value: unknown): unknown => {
    if (path !== undefined) {
      return readPath(value, path);
    }
    return isWhole ? value : unwrap(value);
  };
  return {
    name: key,
    evaluate: ({ outputs, referenceOutputs }) => {
      if (!hasExpected && referenceOutputs === undefined) {
        throw new TypeError(
          "the example has no reference outputs. Add them, or pass `expected` to the scorer",
        );
      }
      return compare(select(outputs), hasExpected ? options.expected : select(referenceOutputs));
    },
  };
}

/** Returns the only member of an object with one member, and any other value unchanged. Never throws. */
export function unwrap(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return value;
  }
  try {
    const members: unknown[] = Object.values(value);
    return members.length === 1 ? members[0] : value;
  } catch {
    // A getter or a proxy threw. The evaluator gets the value as the target returned it.
    return value;
  }
}

/** @throws TypeError if a member of the path does not exist. */
export function readPath(value: unknown, path: string): unknown {
  let currentValue = value;
  for (const name of path.split(".")) {
    if (
      typeof currentValue !== "object" ||
      currentValue === null ||
      !Object.hasOwn(currentValue, name)
    ) {
      throw new TypeError(`there is no member ${JSON.stringify(path)}`);
    }
    currentValue = (currentValue as KeyValues)[name];
  }
  return currentValue;
}

/** Returns the innermost values (those that are not objects or arrays, and empty objects and arrays) by their paths. */
function listLeaves(value: unknown, path = ""): ReadonlyMap<string, unknown> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return entries.length === 0
    ? new Map([[path, value]])
    : new Map(
        entries.flatMap(([key, member]) => [
          ...listLeaves(member, path === "" ? key : `${path}.${key}`),
        ]),
      );
}

/** Returns a text unchanged, and any other value as JSON. */
export const toText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));

const toLowerText = (value: unknown): string => toText(value).toLowerCase();

function toNumber(value: unknown): number {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) {
    throw new TypeError(`${toText(value).slice(0, 100)} is not a number`);
  }
  return number;
}
