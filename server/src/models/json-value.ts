/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the value if it is an object, and an empty object otherwise. */
export const toObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Returns the items of a list; none if the value is not a list. */
export const toList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : [];

/** Returns a string; `undefined` for any other value. */
export const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Parses a JSON object; `undefined` if the text is anything else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined; // The caller reports that the text is not an object.
  }
}

/** Removes members without a value. */
export const withoutUndefined = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
