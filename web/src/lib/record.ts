/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object as it is; whatever else came is one without members. */
export const toRecord = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** The objects of a list; whatever else came is an empty one. */
export const toRecords = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map(toRecord) : [];

export const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
