import { redactionSets } from "./redaction-sets.ts";
import type { RedactionSet } from "./redaction-sets.ts";
import type { RedactionKeySearch, RedactionPlan, RedactionSearch } from "./redaction-search.ts";

/**
 * Masks the matches of a pattern in texts. If the pattern has a group named `masked`, only that
 * group is masked.
 */
export interface RedactionPattern {
  /** The name that the mask shows, as `[name]`. */
  readonly name: string;
  readonly pattern: RegExp;
}

/**
 * Masks all values under certain keys of JSON objects. Keys that are given as strings are compared case-insensitively.
 */
export interface RedactionKeys {
  /** The name that the mask shows, as `[name]`. */
  readonly name: string;
  readonly keys: readonly (string | RegExp)[];
}

/** What to mask: a built-in set, a pattern, or keys. */
export type RedactionRule = RedactionSet | RedactionPattern | RedactionKeys;

/** Pattern for the names of rules. A mask contains the name of its rule, and must be plain ASCII. */
const namePattern = /^[A-Za-z0-9_-]{1,24}$/;

/**
 * Checks the value of the option `redact`. Returns what is allowed, or `undefined` if the value is
 * valid.
 */
export function findRulesProblem(value: unknown): string | undefined {
  const allowed = `an array of ${Object.keys(redactionSets).join(", ")}, { name, pattern } or { name, keys }; a name is up to 24 letters, digits, - or _`;
  return Array.isArray(value) && value.every(isRule) ? undefined : allowed;
}

/** Parses the value of the environment variable, such as `secrets,emails`. */
export const parseRuleNames = (text: string): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** A plan that masks everything, for rules that can't be read. */
export const maskEverything: RedactionPlan = {
  searches: [],
  keys: [],
  // `computeMark` never returns this mark, so a record that was masked by other rules is masked again.
  mark: 255,
  masksEverything: true,
};

/**
 * Converts the rules to a plan for the workers; `undefined` if there are no rules. The rule
 * `secrets` also masks `apiKey`.
 */
export function planRedaction(
  rules: readonly RedactionRule[],
  apiKey: string | undefined,
): RedactionPlan | undefined {
  if (rules.length === 0) {
    return undefined;
  }
  const searches: RedactionSearch[] = [];
  const keys: RedactionKeySearch[] = [];
  for (const rule of rules) {
    if (typeof rule === "string") {
      searches.push(...redactionSets[rule].searches);
      keys.push(...redactionSets[rule].keySearches);
      if (rule === "secrets" && apiKey !== undefined) {
        searches.push({ name: "secret", pattern: new RegExp(escapeRegExp(apiKey), "g") });
      }
    } else if ("pattern" in rule) {
      searches.push({ name: rule.name, pattern: toGlobalPattern(rule.pattern) });
    } else {
      keys.push(...rule.keys.map((key) => ({ name: rule.name, pattern: toKeyPattern(key) })));
    }
  }
  return { searches, keys, mark: computeMark([...searches, ...keys]) };
}

function isRule(value: unknown): boolean {
  if (typeof value === "string") {
    return Object.hasOwn(redactionSets, value);
  }
  if (typeof value !== "object" || value === null || !("name" in value)) {
    return false;
  }
  if (typeof value.name !== "string" || !namePattern.test(value.name)) {
    return false;
  }
  if ("pattern" in value) {
    return value.pattern instanceof RegExp;
  }
  return (
    "keys" in value &&
    Array.isArray(value.keys) &&
    value.keys.every((key) => key instanceof RegExp || (typeof key === "string" && key !== ""))
  );
}

/**
 * Copies a pattern with flags that make it find all matches, and report the position of the group `masked` if it has
 * one.
 */
function toGlobalPattern({ source, flags }: RegExp): RegExp {
  const otherFlags = flags.replace(/[gyd]/g, "");
  return new RegExp(source, `${otherFlags}g${source.includes("(?<masked>") ? "d" : ""}`);
}

const toKeyPattern = (key: string | RegExp): RegExp =>
  typeof key === "string"
    ? new RegExp(`^${escapeRegExp(key)}$`, "i")
    : new RegExp(key.source, key.flags.replace(/[gy]/g, ""));

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/**
 * Computes the mark of rules, a number from 2 to 254, from their content. Different rules almost always have
 * different marks.
 */
function computeMark(
  namedPatterns: readonly { readonly name: string; readonly pattern: RegExp }[],
): number {
  let hash = 7;
  for (const { name, pattern } of namedPatterns) {
    for (const character of `${name}${pattern.source}/${pattern.flags}`) {
      hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
    }
  }
  return 2 + (hash % (maskEverything.mark - 2));
}
