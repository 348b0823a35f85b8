import { redactionSets } from "./redaction-sets.ts";
import type { RedactionSet } from "./redaction-sets.ts";
import type { RedactionKeySearch, RedactionPlan, RedactionSearch } from "./redaction-search.ts";

/** Masks what a pattern finds in a text; where it has a group named `masked`, only that. */
export interface RedactionPattern {
  /** Stands in the mask: `[name]`. */
  readonly name: string;
  readonly pattern: RegExp;
}

/** Masks all that stands under such keys: a text means that key in any case. */
export interface RedactionKeys {
  /** Stands in the mask: `[name]`. */
  readonly name: string;
  readonly keys: readonly (string | RegExp)[];
}

/** What to mask: a set that is built in, a pattern, or keys. */
export type RedactionRule = RedactionSet | RedactionPattern | RedactionKeys;

/** What must be a rule's name, so that its mask is plain ASCII. */
const namePattern = /^[A-Za-z0-9_-]{1,24}$/;

/** What a value must be to be the option `redact`; `undefined` where it is. */
export function problemWithRules(value: unknown): string | undefined {
  const allowed = `an array of ${Object.keys(redactionSets).join(", ")}, { name, pattern } or { name, keys }; a name is up to 24 letters, digits, - or _`;
  return Array.isArray(value) && value.every(isRule) ? undefined : allowed;
}

/** The rules of a variable's text, `secrets,emails`. */
export const parseRuleNames = (text: string): readonly string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** Masks everything: for rules that can't be read. */
export const maskEverything: RedactionPlan = {
  searches: [],
  keys: [],
  // Different from every mark of rules, which are 2 to 255 by their content: this one means that all is masked.
  mark: 255,
  masksEverything: true,
};

/** What the workers search for; `undefined` where there are no rules. `apiKey` is a secret too. */
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
      keys.push(...redactionSets[rule].keys);
      if (rule === "secrets" && apiKey !== undefined) {
        searches.push({ name: "secret", pattern: new RegExp(escaped(apiKey), "g") });
      }
    } else if ("pattern" in rule) {
      searches.push({ name: rule.name, pattern: searching(rule.pattern) });
    } else {
      keys.push(...rule.keys.map((key) => ({ name: rule.name, pattern: keyPattern(key) })));
    }
  }
  return { searches, keys, mark: markOf([...searches, ...keys]) };
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

/** A copy that finds all matches, with the place of a group where the pattern names one. */
function searching({ source, flags }: RegExp): RegExp {
  const kept = flags.replace(/[gyd]/g, "");
  return new RegExp(source, `${kept}g${source.includes("(?<masked>") ? "d" : ""}`);
}

const keyPattern = (key: string | RegExp): RegExp =>
  typeof key === "string"
    ? new RegExp(`^${escaped(key)}$`, "i")
    : new RegExp(key.source, key.flags.replace(/[gy]/g, ""));

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The same rules have the same mark; others have, as good as always, another one. */
function markOf(parts: readonly { readonly name: string; readonly pattern: RegExp }[]): number {
  let hash = 7;
  for (const { name, pattern } of parts) {
    for (const unit of `${name}${pattern.source}/${pattern.flags}`) {
      hash = (hash * 31 + (unit.codePointAt(0) ?? 0)) % 65_521;
    }
  }
  return 2 + (hash % 254);
}
