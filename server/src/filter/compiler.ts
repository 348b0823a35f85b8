import { groupOf } from "./checker.ts";
import type { CheckedComparison, CheckedFilter } from "./checker.ts";
import { compareColumn, compareValue, valueOf, valuesOf } from "./conditions.ts";
import type { JsonValue, ValueTest } from "./conditions.ts";
import type { FieldType, Group } from "./fields.ts";
import { containsObject, containsText, hasEntry, hasText, textContains } from "./json-sql.ts";
import { join, negate, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** How the fields of one kind of row are expressed in SQL. No expression may fail, whatever the row contains. */
export interface FilterSource {
  /**
   * Columns by field name, for fields of the types uuid, text, choice, time (microseconds), duration (microseconds)
   * and number. NULL if there is no value.
   */
  readonly columns: Readonly<Record<string, string>>;
  /** Conditions by field name, for the type boolean. The condition `error` tests whether there is an error. */
  readonly conditions: Readonly<Record<string, string>>;
  /** JSON texts of lists by field name, for the type texts. NULL if there is no list. */
  readonly lists: Readonly<Record<string, string>>;
  /** JSON texts of objects by field name, for the type json. NULL if there is no object. */
  readonly objects: Readonly<Record<string, string>>;
  /** Feedback on the row; absent for rows that have no feedback. */
  readonly feedback?: FeedbackSource;
  /** What `search("text")` searches: expressions of texts and of JSON texts. */
  readonly searched: { readonly texts: readonly string[]; readonly json: readonly string[] };
  /**
   * Returns a condition that holds for every row that may contain all of these texts, ignoring case, and that costs
   * less than reading the row. Absent if there is no index for this. Returns `undefined` if the index does not
   * narrow the search.
   */
  readonly mayContain?: (texts: readonly string[]) => Sql | undefined;
}

export interface FeedbackSource {
  /** The table for `FROM`, and the condition that selects the feedback on the row. */
  readonly from: string;
  readonly where: string;
  readonly key: string;
  /** Values by field name. */
  readonly values: Readonly<Record<string, JsonValue>>;
}

/**
 * Compiles a filter to an SQL condition with bound values. A comparison with an unknown value, such as the latency
 * of a run that has not ended, is false.
 */
export function compileFilter(filter: CheckedFilter, source: FilterSource): Sql {
  switch (filter.kind) {
    case "and":
      return compileAll(filter.parts, source);
    case "or":
      return join(
        filter.parts.map((part) => compileFilter(part, source)),
        "OR",
      );
    case "not":
      return negate(compileFilter(filter.part, source));
    case "search":
      return withCandidates([filter.text], source, searchEverywhere(filter.text, source));
    case "comparison":
      return withCandidates(requiredTexts([filter]), source, compileComparison(filter, source));
  }
}

/**
 * Puts a cheap test in front of an expensive condition: whether the row may contain the texts at all. SQLite then
 * evaluates the condition only for the few rows that pass the test.
 */
function withCandidates(
  texts: readonly string[],
  { mayContain }: FilterSource,
  condition: Sql,
): Sql {
  const first = texts.length === 0 ? undefined : mayContain?.(texts);
  return first === undefined ? condition : sql`(${first} AND ${condition})`;
}

/** Returns texts that occur in the payload of every row that meets these comparisons. */
export const requiredTexts = (parts: readonly CheckedFilter[]): readonly string[] =>
  parts.flatMap((part) => {
    if (part.kind !== "comparison" || !isInPayload(part)) {
      return [];
    }
    const text = String(valueOf(part.operand));
    // The text between the wildcards of a pattern.
    return part.comparator === "like" ? text.split(/[%_]+/) : [text];
  });

/**
 * Whether the text that a comparison searches occurs in the payload as it is. A path does not: it is composed of
 * several keys.
 */
const isInPayload = ({ field, comparator }: CheckedComparison): boolean =>
  (comparator === "like" || comparator === "search") &&
  field.group !== "feedback" &&
  payloadTypes.has(field.type);

const payloadTypes: ReadonlySet<FieldType> = new Set(["error", "texts", "json", "value", "entry"]);

const searchEverywhere = (text: string, { searched }: FilterSource): Sql =>
  join(
    [
      ...searched.texts.map((column) => textContains(column, text)),
      ...searched.json.map((json) => containsText(json, text)),
    ],
    "OR",
  );

/** Which part of a group's entry a condition refers to: its key, its value, or both. */
type Role = "key" | "value" | "mixed";

/** Conditions that must be met by the same entry of a group. */
interface EntryConditions {
  readonly group: Group;
  readonly parts: CheckedFilter[];
  hasKey: boolean;
}

/**
 * Compiles the parts of an `and`. Conditions on a key and on its value must be met by the same entry; a second key
 * begins the conditions on a second entry.
 */
function compileAll(parts: readonly CheckedFilter[], source: FilterSource): Sql {
  const conditions: Sql[] = [];
  const entries: EntryConditions[] = [];
  for (const part of parts) {
    const group = groupOf(part);
    const role = roleOf(part);
    if (group === undefined || role === "mixed") {
      conditions.push(compileFilter(part, source));
      continue;
    }
    const last = entries.findLast((entry) => entry.group === group);
    if (last === undefined || (role === "key" && last.hasKey)) {
      entries.push({ group, parts: [part], hasKey: role === "key" });
    } else {
      last.parts.push(part);
      last.hasKey ||= role === "key";
    }
  }
  for (const { group, parts: entryParts, hasKey } of entries) {
    // Without a key, a negative condition applies to the values of all entries, as it does outside an `and`.
    const separateParts = hasKey ? [] : entryParts.filter(isNegative);
    conditions.push(...separateParts.map((part) => compileFilter(part, source)));
    const jointParts = entryParts.filter((part) => !separateParts.includes(part));
    if (jointParts.length > 0) {
      conditions.push(
        withCandidates(requiredTexts(jointParts), source, hasEntryOf(group, jointParts, source)),
      );
    }
  }
  return join(conditions, "AND");
}

const isNegative = (filter: CheckedFilter): boolean =>
  filter.kind === "not" || (filter.kind === "comparison" && filter.comparator === "neq");

/** Returns which part of an entry a filter of one group refers to. */
export function roleOf(filter: CheckedFilter): Role {
  switch (filter.kind) {
    case "search":
      return "mixed";
    case "comparison": {
      const role = filter.field.type === "key" ? "key" : "value";
      return role === "key" && isNegative(filter) ? "mixed" : role;
    }
    case "not":
      return roleOf(filter.part) === "value" ? "value" : "mixed";
    case "and":
    case "or": {
      const [first = "mixed", ...otherRoles] = filter.parts.map(roleOf);
      return otherRoles.every((role) => role === first) ? first : "mixed";
    }
  }
}

function compileComparison(comparison: CheckedComparison, source: FilterSource): Sql {
  const { field, comparator, operand } = comparison;
  const { name, group } = field;
  if (group !== undefined) {
    return comparator === "neq"
      ? negate(hasEntryOf(group, [{ ...comparison, comparator: "eq" }], source))
      : hasEntryOf(group, [comparison], source);
  }
  switch (field.type) {
    case "boolean":
      return isTrue(source.conditions[name] ?? "0", comparison);
    case "error":
      return compareError(comparison, source);
    case "texts":
      return compareTexts(source.lists[name] ?? "NULL", comparison);
    case "json":
      return compareObject(source.objects[name] ?? "NULL", comparison);
    default:
      return compareColumn(source.columns[name] ?? "NULL", { comparator, operand });
  }
}

const isTrue = (condition: string, { comparator, operand }: ValueTest): Sql =>
  (valueOf(operand) === true) === (comparator === "eq") ? sql`${condition}` : sql`NOT ${condition}`;

/**
 * `true` tests that there is an error, `false` and `null` that there is none. A text is compared with the error's text.
 */
function compareError({ comparator, operand }: ValueTest, source: FilterSource): Sql {
  const hasError = source.conditions["error"] ?? "0";
  if (comparator === "neq") {
    return negate(compareError({ comparator: "eq", operand }, source));
  }
  const parts = valuesOf(operand).map((value) => {
    if (typeof value !== "string") {
      return value === true ? sql`${hasError}` : sql`NOT ${hasError}`;
    }
    const textComparator = comparator === "in" ? "eq" : comparator;
    const test = { comparator: textComparator, operand: { kind: "scalar", value } } as const;
    return sql`(${hasError} AND ${compareColumn(source.columns["error"] ?? "NULL", test)})`;
  });
  return join(parts, "OR");
}

function compareTexts(list: string, { comparator, operand }: ValueTest): Sql {
  if (comparator === "neq") {
    return negate(compareTexts(list, { comparator: "eq", operand }));
  }
  return hasText(list, compareColumn("e.atom", { comparator, operand }));
}

function compareObject(object: string, { comparator, operand }: ValueTest): Sql {
  if (operand.kind === "json") {
    return containsObject(object, operand.json);
  }
  const text = String(valueOf(operand));
  if (comparator === "search") {
    return containsText(object, text);
  }
  return hasEntry(object, compareColumn("w.path", { comparator: "eq", operand }), [text]);
}

const entryValue: JsonValue = { type: "w.type", atom: "w.atom" };

/** An entry of a JSON object, with the column names of `hasEntry`. */
const objectEntry: Entry = {
  key: "w.path",
  object: "CASE w.type WHEN 'object' THEN w.json END",
  valueAt: () => entryValue,
};

/** Condition that a single entry of a group meets all conditions. */
function hasEntryOf(group: Group, parts: readonly CheckedFilter[], source: FilterSource): Sql {
  if (group !== "feedback") {
    const condition = join(
      parts.map((part) => compileEntry(part, objectEntry)),
      "AND",
    );
    return hasEntry(source.objects[group] ?? "NULL", condition, requiredKeys(parts));
  }
  const { feedback } = source;
  if (feedback === undefined) {
    return sql`0`;
  }
  const entry = { key: feedback.key, valueAt: (name: string) => feedback.values[name] };
  const conditions = parts.map((part) => compileEntry(part, entry));
  return sql`EXISTS (SELECT 1 FROM ${feedback.from} WHERE ${join([sql`${feedback.where}`, ...conditions], "AND")})`;
}

/** The keys of which the entry must have one; `undefined` if the conditions don't determine them. */
function requiredKeys(parts: readonly CheckedFilter[]): readonly string[] | undefined {
  for (const part of parts) {
    if (
      part.kind === "comparison" &&
      part.field.type === "key" &&
      (part.comparator === "eq" || part.comparator === "in")
    ) {
      return valuesOf(part.operand).map(String);
    }
  }
  return undefined;
}

interface Entry {
  readonly key: string;
  /** JSON text of the value, if it is an object; absent if values can't be objects. */
  readonly object?: string;
  readonly valueAt: (name: string) => JsonValue | undefined;
}

/** Compiles conditions on the current entry. */
function compileEntry(filter: CheckedFilter, entry: Entry): Sql {
  switch (filter.kind) {
    case "and":
    case "or":
      return join(
        filter.parts.map((part) => compileEntry(part, entry)),
        filter.kind === "and" ? "AND" : "OR",
      );
    case "not":
      return negate(compileEntry(filter.part, entry));
    case "search":
      return sql`0`;
    case "comparison": {
      const { field, comparator, operand } = filter;
      if (operand.kind === "json") {
        return containsObject(entry.object ?? "NULL", operand.json);
      }
      const value = entry.valueAt(field.name);
      return field.type === "key" || value === undefined
        ? compareColumn(entry.key, { comparator, operand })
        : sql`(${compareValue(value, { comparator, operand })})`;
    }
  }
}
