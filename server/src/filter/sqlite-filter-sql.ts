import type { FilterSql } from "./filter-sql.ts";
import {
  createAnyTextCondition,
  createContainsCondition,
  createContainsObjectCondition,
  createEntryCondition,
  createTextSearchCondition,
} from "./json-sql.ts";
import { bind, bindBytes, sql } from "./sql.ts";
import type { Sql } from "./sql.ts";

/** The SQL of SQLite for filters. */
export const sqliteFilterSql: FilterSql = {
  bind,
  createDifference: (column, value) => sql`${column} IS NOT ${bind(value)}`,
  createContains: createContainsCondition,
  createPattern,
  createAnyText: createAnyTextCondition,
  createTextSearch: createTextSearchCondition,
  createEntry: createEntryCondition,
  createContainsObject: createContainsObjectCondition,
  entryValue: { type: "w.type", atom: "w.atom", number: "w.atom" },
  toNumberText: (number) => `CAST(${number} AS TEXT)`,
};

/**
 * Creates the condition that a text matches a pattern: `%` matches any characters, `_` matches one character.
 * Matching is case-sensitive.
 */
function createPattern(text: string, pattern: string): Sql {
  const simplePattern = /^(%?)([^%_]*)(%?)$/.exec(pattern);
  if (simplePattern === null) {
    const glob = pattern.replaceAll(/[*?[]/g, "[$&]").replaceAll("%", "*").replaceAll("_", "?");
    return sql`${text} GLOB ${bind(glob)}`;
  }
  // Compare simple patterns byte by byte, because GLOB ends a text at its first NUL.
  const [, leadingWildcard = "", middle = "", trailingWildcard = ""] = simplePattern;
  const part = bindBytes(middle);
  const blob = `CAST(${text} AS BLOB)`;
  if (middle === "") {
    return leadingWildcard + trailingWildcard === "" ? sql`${text} = ''` : sql`${text} IS NOT NULL`;
  }
  if (leadingWildcard !== "" && trailingWildcard !== "") {
    return sql`instr(${blob}, ${part}) > 0`;
  }
  if (trailingWildcard !== "") {
    return sql`substr(${blob}, 1, ${String(part.length)}) = ${part}`;
  }
  return leadingWildcard === ""
    ? sql`${blob} = ${part}`
    : sql`substr(${blob}, -${String(part.length)}) = ${part}`;
}
