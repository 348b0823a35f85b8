/** SQL that reads a text as bytes, because an SQLite package may return a text only up to its first NUL. */
export const toWholeTextSql = (column: string): string => `CAST(${column} AS BLOB)`;

/** Converts a column's value to a string, even if it was read with {@link toWholeTextSql}. */
export const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);

/** Parses the rows of a statement in raw mode. */
export const parseRows = (rows: readonly unknown[]): (readonly unknown[])[] =>
  rows.map((row) => (isList(row) ? row : []));

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Returns a text in a column; `null` if the column contains no text. */
export const textOrNull = (value: unknown): string | null =>
  typeof value === "string" ? value : null;

/** Returns the placeholders of a statement for a list of values. */
export function createPlaceholders(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}
