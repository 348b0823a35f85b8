import { groupOf } from "./checker.ts";
import type { CheckedComparison, CheckedFilter } from "./checker.ts";
import { compareColumn, compareValue, valueOf, valuesOf } from "./conditions.ts";
import type { JsonValue, Test } from "./conditions.ts";
import type { FieldType, Group } from "./fields.ts";
import { containsObject, containsText, hasEntry, hasText, holds } from "./json-sql.ts";
import { join, negate, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/**
 * How SQL reaches the fields of one kind of thing. All are SQL expressions over the row in question; none
 * may fail, whatever the row holds.
 */
export interface FilterSource {
  /**
   * Columns by the name of their field, for fields of the types uuid, text, choice, time (microseconds),
   * duration (microseconds) and number; NULL where there is no value.
   */
  readonly columns: Readonly<Record<string, string>>;
  /** Conditions by the name of their field, for the type boolean, and `error`: whether there is one. */
  readonly conditions: Readonly<Record<string, string>>;
  /** JSON texts of lists, for the type texts; NULL where there is no list. */
  readonly lists: Readonly<Record<string, string>>;
  /** JSON texts of objects, for the type json; NULL where there is no object. */
  readonly objects: Readonly<Record<string, string>>;
  /** Feedback of the row; absent where there is none. */
  readonly feedback?: FeedbackSource;
  /** Where `search("text")` looks: texts, and JSON texts. */
  readonly searched: { readonly texts: readonly string[]; readonly json: readonly string[] };
  /**
   * A condition that is true for each row that may contain all of these texts, in either case, and that costs less than
   * reading the row. Absent where the source has no such index; returns `undefined` where the index does not narrow the search.
   */
  readonly mayContain?: (texts: readonly string[]) => Sql | undefined;
}

export interface FeedbackSource {
  /** What follows `FROM`, and the condition that it is this row's. */
  readonly from: string;
  readonly where: string;
  readonly key: string;
  /** Values by the name of their field. */
  readonly values: Readonly<Record<string, JsonValue>>;
}

/**
 * A filter as a condition of SQL, its values bound. A part that is unknown, such as the latency of a
 * run that has not ended, does not hold.
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
      return ifMayHold([filter.text], source, searchEverywhere(filter.text, source));
    case "comparison":
      return ifMayHold(textsIn([filter]), source, compileComparison(filter, source));
  }
}

/** The rows are read that may meet a condition. The cheap condition comes first, and SQLite asks it first. */
function ifMayHold(texts: readonly string[], { mayContain }: FilterSource, condition: Sql): Sql {
  const first = texts.length === 0 ? undefined : mayContain?.(texts);
  return first === undefined ? condition : sql`(${first} AND ${condition})`;
}

/** Texts that stand in whatever meets these comparisons, where it stands in a payload. */
export const textsIn = (parts: readonly CheckedFilter[]): readonly string[] =>
  parts.flatMap((part) => {
    if (part.kind !== "comparison" || !isOfPayload(part)) {
      return [];
    }
    const text = String(valueOf(part.operand));
    // What stands between the signs of a pattern.
    return part.comparator === "like" ? text.split(/[%_]+/) : [text];
  });

/** Whether a comparison asks for a part of a text that a payload holds as one piece; the paths of entries are put together. */
const isOfPayload = ({ field, comparator }: CheckedComparison): boolean =>
  (comparator === "like" || comparator === "search") &&
  field.group !== "feedback" &&
  payloadTypes.has(field.type);

const payloadTypes: ReadonlySet<FieldType> = new Set(["error", "texts", "json", "value", "entry"]);

const searchEverywhere = (text: string, { searched }: FilterSource): Sql =>
  join(
    [
      ...searched.texts.map((column) => holds(column, text)),
      ...searched.json.map((json) => containsText(json, text)),
    ],
    "OR",
  );

/** What is asked of a group's entry: its key, its value, or both in a way of its own. */
type Role = "key" | "value" | "mixed";

/** Conditions that one entry of a group must meet. */
interface Bundle {
  readonly group: Group;
  readonly parts: CheckedFilter[];
  hasKey: boolean;
}

/**
 * Within one `and`, conditions on a key and on its value are met by the same entry. A second key begins
 * a second entry.
 */
function compileAll(parts: readonly CheckedFilter[], source: FilterSource): Sql {
  const conditions: Sql[] = [];
  const bundles: Bundle[] = [];
  for (const part of parts) {
    const group = groupOf(part);
    const role = roleOf(part);
    if (group === undefined || role === "mixed") {
      conditions.push(compileFilter(part, source));
      continue;
    }
    const last = bundles.findLast((bundle) => bundle.group === group);
    if (last === undefined || (role === "key" && last.hasKey)) {
      bundles.push({ group, parts: [part], hasKey: role === "key" });
    } else {
      last.parts.push(part);
      last.hasKey ||= role === "key";
    }
  }
  for (const { group, parts: together, hasKey } of bundles) {
    // Without a key, "not this value" speaks of all entries, as it does outside an `and`.
    const alone = hasKey ? [] : together.filter(isNegative);
    conditions.push(...alone.map((part) => compileFilter(part, source)));
    const rest = together.filter((part) => !alone.includes(part));
    if (rest.length > 0) {
      conditions.push(ifMayHold(textsIn(rest), source, hasEntryOf(group, rest, source)));
    }
  }
  return join(conditions, "AND");
}

const isNegative = (filter: CheckedFilter): boolean =>
  filter.kind === "not" || (filter.kind === "comparison" && filter.comparator === "neq");

/** What a part of one group asks of its entry. */
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
      const [first = "mixed", ...rest] = filter.parts.map(roleOf);
      return rest.every((role) => role === first) ? first : "mixed";
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

const isTrue = (condition: string, { comparator, operand }: Test): Sql =>
  (valueOf(operand) === true) === (comparator === "eq") ? sql`${condition}` : sql`NOT ${condition}`;

/** `true` and `null` ask whether there is an error, a text asks for its words. */
function compareError({ comparator, operand }: Test, source: FilterSource): Sql {
  const has = source.conditions["error"] ?? "0";
  if (comparator === "neq") {
    return negate(compareError({ comparator: "eq", operand }, source));
  }
  const parts = valuesOf(operand).map((value) => {
    if (typeof value !== "string") {
      return value === true ? sql`${has}` : sql`NOT ${has}`;
    }
    const one = comparator === "in" ? "eq" : comparator;
    const test = { comparator: one, operand: { kind: "scalar", value } } as const;
    return sql`(${has} AND ${compareColumn(source.columns["error"] ?? "NULL", test)})`;
  });
  return join(parts, "OR");
}

function compareTexts(list: string, { comparator, operand }: Test): Sql {
  if (comparator === "neq") {
    return negate(compareTexts(list, { comparator: "eq", operand }));
  }
  return hasText(list, compareColumn("e.atom", { comparator, operand }));
}

function compareObject(object: string, { comparator, operand }: Test): Sql {
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

/** An entry of a JSON object, as `hasEntry` names it. */
const objectEntry: Entry = {
  key: "w.path",
  object: "CASE w.type WHEN 'object' THEN w.json END",
  valueAt: () => entryValue,
};

/** Whether one entry of a group meets all conditions. */
function hasEntryOf(group: Group, parts: readonly CheckedFilter[], source: FilterSource): Sql {
  if (group !== "feedback") {
    const condition = join(
      parts.map((part) => compileEntry(part, objectEntry)),
      "AND",
    );
    return hasEntry(source.objects[group] ?? "NULL", condition, wantedKeys(parts));
  }
  const { feedback } = source;
  if (feedback === undefined) {
    return sql`0`;
  }
  const entry = { key: feedback.key, valueAt: (name: string) => feedback.values[name] };
  const conditions = parts.map((part) => compileEntry(part, entry));
  return sql`EXISTS (SELECT 1 FROM ${feedback.from} WHERE ${join([sql`${feedback.where}`, ...conditions], "AND")})`;
}

/** The keys one of which the entry must have; `undefined` where the conditions do not say. */
function wantedKeys(parts: readonly CheckedFilter[]): readonly string[] | undefined {
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
  /** The JSON text of the value, where it is an object; absent where entries have no such values. */
  readonly object?: string;
  readonly valueAt: (name: string) => JsonValue | undefined;
}

/** Conditions on the entry at hand. */
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
