import { findGroup } from "./checker.ts";
import type { CheckedComparison, CheckedFilter } from "./checker.ts";
import {
  compileColumnComparison,
  compileValueComparison,
  toSingleValue,
  toValues,
} from "./conditions.ts";
import type { ValueComparison } from "./conditions.ts";
import type { FieldType, Group } from "./fields.ts";
import type { FilterSql, JsonValue } from "./filter-sql.ts";
import { always, joinConditions, negateCondition, never, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** The SQL expressions for the fields of one kind of row. No expression may fail, whatever the row contains. */
export interface FilterSource {
  /** The SQL of the engine. */
  readonly language: FilterSql;
  /**
   * SQL of columns by field name, for fields of the types uuid, text, choice, time (microseconds), duration
   * (microseconds) and number. NULL if there is no value.
   */
  readonly columns: Readonly<Record<string, string>>;
  /**
   * SQL conditions by field name, for fields of the type boolean. The condition `error` tests whether there is an
   * error.
   */
  readonly conditions: Readonly<Record<string, string>>;
  /** SQL for the JSON text of lists by field name, for fields of the type texts. NULL if there is no list. */
  readonly lists: Readonly<Record<string, string>>;
  /** SQL for the JSON text of objects by field name, for fields of the type json. NULL if there is no object. */
  readonly objects: Readonly<Record<string, string>>;
  /** Feedback on the row; absent for rows that have no feedback. */
  readonly feedback?: FeedbackSource;
  /** SQL for the texts, and for the JSON texts, in which `search("text")` searches. */
  readonly searchedColumns: { readonly texts: readonly string[]; readonly json: readonly string[] };
  /**
   * Returns a condition that is true for every row that may contain all of these texts, ignoring case. The condition
   * uses a text index, which is faster than reading the row. Returns `undefined` if the index does not narrow down the
   * search. The function is absent if there is no such index.
   */
  readonly createIndexCondition?: (texts: readonly string[]) => Sql | undefined;
}

/** How the SQL of a filter reads the feedback on a row. */
export interface FeedbackSource {
  /** SQL for the `FROM` clause, and the condition that selects the feedback on the row. */
  readonly from: string;
  readonly where: string;
  /** SQL for the key. */
  readonly key: string;
  /** SQL for the values by field name. */
  readonly values: Readonly<Record<string, JsonValue>>;
}

/**
 * Compiles a filter to an SQL condition with bound values. A comparison with an unknown value, such as the latency of
 * a run that has not ended, is false.
 */
export function compileFilter(filter: CheckedFilter, source: FilterSource): Sql {
  switch (filter.kind) {
    case "and":
      return compileAll(filter.parts, source);
    case "or":
      return joinConditions(
        filter.parts.map((part) => compileFilter(part, source)),
        "OR",
      );
    case "not":
      return negateCondition(compileFilter(filter.part, source));
    case "search":
      return prependIndexCondition([filter.text], source, compileSearch(filter.text, source));
    case "comparison":
      return prependIndexCondition(
        findRequiredTexts([filter]),
        source,
        compileComparison(filter, source),
      );
  }
}

/**
 * Puts a cheap condition in front of an expensive one: whether the row may contain the texts at all. SQLite then
 * evaluates the expensive condition only for the few rows that meet the cheap one.
 */
function prependIndexCondition(
  texts: readonly string[],
  { createIndexCondition }: FilterSource,
  condition: Sql,
): Sql {
  const indexCondition = texts.length === 0 ? undefined : createIndexCondition?.(texts);
  return indexCondition === undefined ? condition : sql`(${indexCondition} AND ${condition})`;
}

/** Returns texts that occur in the payload of every row that meets these comparisons. */
export const findRequiredTexts = (parts: readonly CheckedFilter[]): readonly string[] =>
  parts.flatMap((part) => {
    if (part.kind !== "comparison" || !isInPayload(part)) {
      return [];
    }
    const text = String(toSingleValue(part.operand));
    // The parts of the pattern between wildcards occur as they are.
    return part.comparator === "like" ? text.split(/[%_]+/) : [text];
  });

/**
 * Whether every row that meets a comparison contains the comparison's text, unchanged, in its payload. A path does not
 * occur there, because it is composed of several keys.
 */
const isInPayload = ({ field, comparator }: CheckedComparison): boolean =>
  (comparator === "like" || comparator === "search") &&
  field.group !== "feedback" &&
  payloadTypes.has(field.type);

const payloadTypes: ReadonlySet<FieldType> = new Set(["error", "texts", "json", "value", "entry"]);

const compileSearch = (text: string, { language, searchedColumns }: FilterSource): Sql =>
  joinConditions(
    [
      ...searchedColumns.texts.map((column) => language.createContains(column, text)),
      ...searchedColumns.json.map((json) => language.createTextSearch(json, text)),
    ],
    "OR",
  );

/** Whether a condition refers to the key of an entry, such as a metadata entry, to its value, or to both. */
type Role = "key" | "value" | "mixed";

/** Conditions that a single entry of a group, such as one metadata entry, must meet. */
interface EntryConditions {
  readonly group: Group;
  readonly parts: CheckedFilter[];
  hasKey: boolean;
}

/**
 * Compiles the parts of an `and`. Conditions on a key and on values of the same group apply to one entry, which must
 * meet all of them. A second condition on a key begins the conditions on a second entry.
 */
function compileAll(parts: readonly CheckedFilter[], source: FilterSource): Sql {
  const conditions: Sql[] = [];
  const entries: EntryConditions[] = [];
  for (const part of parts) {
    const group = findGroup(part);
    const role = determineRole(part);
    if (group === undefined || role === "mixed") {
      conditions.push(compileFilter(part, source));
      continue;
    }
    const lastEntry = entries.findLast((entry) => entry.group === group);
    if (lastEntry === undefined || (role === "key" && lastEntry.hasKey)) {
      entries.push({ group, parts: [part], hasKey: role === "key" });
    } else {
      lastEntry.parts.push(part);
      lastEntry.hasKey ||= role === "key";
    }
  }
  for (const { group, parts: entryParts, hasKey } of entries) {
    // Without a key, a negative condition applies to the values of all entries, as it does outside of an `and`.
    const separateParts = hasKey ? [] : entryParts.filter(isNegative);
    conditions.push(...separateParts.map((part) => compileFilter(part, source)));
    const jointParts = entryParts.filter((part) => !separateParts.includes(part));
    if (jointParts.length > 0) {
      conditions.push(
        prependIndexCondition(
          findRequiredTexts(jointParts),
          source,
          createGroupCondition(group, jointParts, source),
        ),
      );
    }
  }
  return joinConditions(conditions, "AND");
}

const isNegative = (filter: CheckedFilter): boolean =>
  filter.kind === "not" || (filter.kind === "comparison" && filter.comparator === "neq");

/** Returns whether a filter over the entries of one group refers to their keys, to their values, or to both. */
export function determineRole(filter: CheckedFilter): Role {
  switch (filter.kind) {
    case "search":
      return "mixed";
    case "comparison": {
      const role = filter.field.type === "key" ? "key" : "value";
      return role === "key" && isNegative(filter) ? "mixed" : role;
    }
    case "not":
      return determineRole(filter.part) === "value" ? "value" : "mixed";
    case "and":
    case "or": {
      const [first = "mixed", ...otherRoles] = filter.parts.map(determineRole);
      return otherRoles.every((role) => role === first) ? first : "mixed";
    }
  }
}

function compileComparison(comparison: CheckedComparison, source: FilterSource): Sql {
  const { field, comparator, operand } = comparison;
  const { name, group } = field;
  if (group !== undefined) {
    return comparator === "neq"
      ? negateCondition(createGroupCondition(group, [{ ...comparison, comparator: "eq" }], source))
      : createGroupCondition(group, [comparison], source);
  }
  switch (field.type) {
    case "boolean":
      return compileBoolean(source.conditions[name] ?? never.sql, comparison);
    case "error":
      return compileErrorComparison(comparison, source);
    case "texts":
      return compileTextsComparison(source, source.lists[name] ?? "NULL", comparison);
    case "json":
      return compileObjectComparison(source, source.objects[name] ?? "NULL", comparison);
    default:
      return compileColumnComparison(source.language, source.columns[name] ?? "NULL", {
        comparator,
        operand,
      });
  }
}

const compileBoolean = (condition: string, { comparator, operand }: ValueComparison): Sql =>
  (toSingleValue(operand) === true) === (comparator === "eq")
    ? sql`${condition}`
    : sql`NOT ${condition}`;

/**
 * Compiles a comparison with the field `error`: `true` tests that there is an error, `false` and `null` that there is
 * none, and a text is compared with the text of the error.
 */
function compileErrorComparison(
  { comparator, operand }: ValueComparison,
  source: FilterSource,
): Sql {
  const errorCondition = source.conditions["error"] ?? never.sql;
  if (comparator === "neq") {
    return negateCondition(compileErrorComparison({ comparator: "eq", operand }, source));
  }
  const parts = toValues(operand).map((value) => {
    if (typeof value !== "string") {
      return value === true ? sql`${errorCondition}` : sql`NOT ${errorCondition}`;
    }
    const textComparator = comparator === "in" ? "eq" : comparator;
    const test = { comparator: textComparator, operand: { kind: "scalar", value } } as const;
    return sql`(${errorCondition} AND ${compileColumnComparison(source.language, source.columns["error"] ?? "NULL", test)})`;
  });
  return joinConditions(parts, "OR");
}

function compileTextsComparison(
  source: FilterSource,
  list: string,
  { comparator, operand }: ValueComparison,
): Sql {
  if (comparator === "neq") {
    return negateCondition(compileTextsComparison(source, list, { comparator: "eq", operand }));
  }
  const { language } = source;
  return language.createAnyText(
    list,
    compileColumnComparison(language, "e.atom", { comparator, operand }),
  );
}

function compileObjectComparison(
  { language }: FilterSource,
  object: string,
  { comparator, operand }: ValueComparison,
): Sql {
  if (operand.kind === "json") {
    return language.createContainsObject(object, operand.json);
  }
  const value = toSingleValue(operand);
  if (value === null) {
    // Any entry will do, so only the entries of the first level are read.
    return language.createEntry(object, always, []);
  }
  const text = String(value);
  if (comparator === "search") {
    return language.createTextSearch(object, text);
  }
  return language.createEntry(
    object,
    compileColumnComparison(language, "w.path", { comparator: "eq", operand }),
    [text],
  );
}

/** SQL for an entry of a JSON object, with the column names of `FilterSql.createEntry`. */
const createObjectEntry = (language: FilterSql): Entry => ({
  language,
  key: "w.path",
  object: "CASE w.type WHEN 'object' THEN w.json END",
  findValue: () => language.entryValue,
});

/** Creates the condition that a single entry of a group, such as one metadata entry, meets all of `parts`. */
function createGroupCondition(
  group: Group,
  parts: readonly CheckedFilter[],
  source: FilterSource,
): Sql {
  const { language, feedback } = source;
  if (group !== "feedback") {
    const objectEntry = createObjectEntry(language);
    const condition = joinConditions(
      parts.map((part) => compileEntry(part, objectEntry)),
      "AND",
    );
    return language.createEntry(
      source.objects[group] ?? "NULL",
      condition,
      findRequiredKeys(parts),
    );
  }
  if (feedback === undefined) {
    return never;
  }
  const entry = {
    language,
    key: feedback.key,
    findValue: (name: string) => feedback.values[name],
  };
  const conditions = parts.map((part) => compileEntry(part, entry));
  return sql`EXISTS (SELECT 1 FROM ${feedback.from} WHERE ${joinConditions([sql`${feedback.where}`, ...conditions], "AND")})`;
}

/** Returns the keys that the entry can have; `undefined` if the conditions don't restrict the key to a list. */
function findRequiredKeys(parts: readonly CheckedFilter[]): readonly string[] | undefined {
  for (const part of parts) {
    if (
      part.kind === "comparison" &&
      part.field.type === "key" &&
      (part.comparator === "eq" || part.comparator === "in")
    ) {
      return toValues(part.operand).map(String);
    }
  }
  return undefined;
}

interface Entry {
  readonly language: FilterSql;
  readonly key: string;
  /** SQL for the JSON text of the value if it is an object; absent if values can't be objects. */
  readonly object?: string;
  readonly findValue: (name: string) => JsonValue | undefined;
}

function compileEntry(filter: CheckedFilter, entry: Entry): Sql {
  switch (filter.kind) {
    case "and":
    case "or":
      return joinConditions(
        filter.parts.map((part) => compileEntry(part, entry)),
        filter.kind === "and" ? "AND" : "OR",
      );
    case "not":
      return negateCondition(compileEntry(filter.part, entry));
    case "search":
      return never;
    case "comparison": {
      const { field, comparator, operand } = filter;
      if (operand.kind === "json") {
        return entry.language.createContainsObject(entry.object ?? "NULL", operand.json);
      }
      const value = entry.findValue(field.name);
      return field.type === "key" || value === undefined
        ? compileColumnComparison(entry.language, entry.key, { comparator, operand })
        : sql`(${compileValueComparison(entry.language, value, { comparator, operand })})`;
    }
  }
}
