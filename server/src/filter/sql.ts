/** What SQLite binds. */
export type SqlValue = string | number | null;

/** A piece of SQL and the values of its question marks, in order. Nothing that a caller wrote stands in the text. */
export interface Sql {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Template of SQL: pieces are put in as they are, with their values. */
export function sql(parts: TemplateStringsArray, ...pieces: readonly (Sql | string)[]): Sql {
  const texts: string[] = [];
  const values: SqlValue[] = [];
  parts.forEach((part, index) => {
    texts.push(part);
    const piece = pieces[index];
    if (typeof piece === "string") {
      texts.push(piece);
    } else if (piece !== undefined) {
      texts.push(piece.sql);
      values.push(...piece.values);
    }
  });
  return { sql: texts.join(""), values };
}

/** Conditions beside one another; SQLite reads 1,000 within one another, and each makes a level. */
const groupMax = 100;

/** Conditions, all or any of which must hold; in parentheses. */
export function join(conditions: readonly Sql[], word: "AND" | "OR"): Sql {
  if (conditions.length === 0) {
    return { sql: word === "AND" ? "1" : "0", values: [] };
  }
  if (conditions.length > groupMax) {
    const groups = Array.from({ length: Math.ceil(conditions.length / groupMax) }, (_, index) =>
      join(conditions.slice(index * groupMax, (index + 1) * groupMax), word),
    );
    return join(groups, word);
  }
  return {
    sql: `(${conditions.map((condition) => condition.sql).join(` ${word} `)})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** A condition turned round. What SQL calls unknown does not hold, so its opposite does. */
export const negate = (condition: Sql): Sql => sql`(${condition}) IS NOT TRUE`;

/** A bound value. Texts go as they are, lone surrogates included, which the driver would replace. */
export function bind(value: string | number | boolean | null): Sql {
  if (typeof value === "string" && loneSurrogate.test(value)) {
    return { sql: "CAST(unhex(?) AS TEXT)", values: [toBytes(value).toString("hex")] };
  }
  return { sql: "?", values: [typeof value === "boolean" ? Number(value) : value] };
}

/** The bytes of a text, bound, and how many they are. */
export function bindBytes(text: string): Sql & { readonly length: number } {
  const bytes = toBytes(text);
  return { sql: "unhex(?)", values: [bytes.toString("hex")], length: bytes.length };
}

const loneSurrogate = /\p{Surrogate}/u;
const loneSurrogates = /(\p{Surrogate})/u;

/** UTF-8, with three bytes for each lone surrogate: as SQLite decodes its escape in JSON. */
const toBytes = (text: string): Buffer =>
  Buffer.concat(
    text
      .split(loneSurrogates)
      .map((piece) => (loneSurrogate.test(piece) ? surrogateBytes(piece) : Buffer.from(piece))),
  );

function surrogateBytes(surrogate: string): Buffer {
  const code = surrogate.charCodeAt(0);
  return Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]);
}
