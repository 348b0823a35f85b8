/** A value that every engine can bind. */
export type SqlValue = string | number | null;

/** A fragment of SQL with the values of its placeholders in order. The SQL itself contains no text from clients. */
export interface Sql {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Template tag for SQL: inserts fragments together with their values. */
export function sql(parts: TemplateStringsArray, ...fragments: readonly (Sql | string)[]): Sql {
  const texts: string[] = [];
  const values: SqlValue[] = [];
  parts.forEach((part, index) => {
    texts.push(part);
    const fragment = fragments[index];
    if (typeof fragment === "string") {
      texts.push(fragment);
    } else if (fragment !== undefined) {
      texts.push(fragment.sql);
      values.push(...fragment.values);
    }
  });
  return { sql: texts.join(""), values };
}

/**
 * Maximum number of conditions that one AND or OR combines. SQLite allows 1,000 nesting levels, and each condition
 * adds one.
 */
const maxGroupSize = 100;

/** A condition that every row meets, in a form that every engine supports. */
export const always: Sql = { sql: "1 = 1", values: [] };

/** A condition that no row meets, in a form that every engine supports. */
export const never: Sql = { sql: "1 = 0", values: [] };

/** Joins fragments with a separator. */
export const joinSql = (fragments: readonly Sql[], separator: string): Sql => ({
  sql: fragments.map((fragment) => fragment.sql).join(separator),
  values: fragments.flatMap(({ values }) => values),
});

/** Combines conditions with AND or OR, in parentheses. */
export function joinConditions(conditions: readonly Sql[], operator: "AND" | "OR"): Sql {
  if (conditions.length === 0) {
    return operator === "AND" ? always : never;
  }
  if (conditions.length > maxGroupSize) {
    const groups = Array.from({ length: Math.ceil(conditions.length / maxGroupSize) }, (_, index) =>
      joinConditions(conditions.slice(index * maxGroupSize, (index + 1) * maxGroupSize), operator),
    );
    return joinConditions(groups, operator);
  }
  return sql`(${joinSql(conditions, ` ${operator} `)})`;
}

/** Negates a condition. A condition that is NULL counts as false, so its negation is true. */
export const negateCondition = (condition: Sql): Sql => sql`(${condition}) IS NOT TRUE`;

/** Binds a value. Texts are bound unchanged, including lone surrogates, which the driver would replace. */
export function bind(value: string | number | boolean | null): Sql {
  if (typeof value === "string" && surrogatePattern.test(value)) {
    return { sql: "CAST(unhex(?) AS TEXT)", values: [toBytes(value).toString("hex")] };
  }
  return { sql: "?", values: [typeof value === "boolean" ? Number(value) : value] };
}

/** Binds a text as bytes. `length` is the number of bytes. */
export function bindBytes(text: string): Sql & { readonly length: number } {
  const bytes = toBytes(text);
  return { sql: "unhex(?)", values: [bytes.toString("hex")], length: bytes.length };
}

const surrogatePattern = /\p{Surrogate}/u;
const capturedSurrogatePattern = /(\p{Surrogate})/u;

/**
 * Encodes a text as UTF-8, with three bytes for each lone surrogate. SQLite produces the same bytes when it decodes the
 * escape sequence of a lone surrogate in JSON.
 */
const toBytes = (text: string): Buffer =>
  Buffer.concat(
    text
      .split(capturedSurrogatePattern)
      .map((fragment) =>
        surrogatePattern.test(fragment) ? encodeSurrogate(fragment) : Buffer.from(fragment),
      ),
  );

function encodeSurrogate(surrogate: string): Buffer {
  const code = surrogate.charCodeAt(0);
  return Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]);
}
