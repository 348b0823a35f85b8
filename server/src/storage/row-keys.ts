// Ids are unique within a tenant, keys within the database. A key is the id itself, or, if a row of another tenant
// had that key first, the id followed by a slash and the tenant id.

/** Kinds of rows that have a key of their own, because the rows of all tenants are in one table. */
export type KeyKind = "run" | "project" | "dataset";

/** Characters of an id, which is a UUID. */
export const idLength = 36;

/** The id by which a tenant refers to a row, given the row's key. */
export const idOf = (key: string): string => key.slice(0, idLength);

/** The key of a row whose id is used by another tenant, too. */
export const longKey = (id: string, tenantId: string): string => `${id}/${tenantId}`;

/** Finds and assigns the keys of a tenant's ids. An engine may return its result at once or as a promise. */
export interface RowKeys {
  keyOf(kind: KeyKind, tenantId: string, id: string): string | Promise<string>;
  /**
   * Assigns the longer key to an id whose key is another tenant's, and returns it. References that the tenant has
   * stored to the id are updated.
   */
  lengthen(kind: KeyKind, tenantId: string, id: string): string | Promise<string>;
}

/**
 * Returns a copy in which ids replace the tenant's longer keys, at any depth. No other text is mistaken for a key,
 * because a key has a certain length and ends with the tenant id.
 */
export function toIds<Value>(tenantId: string, value: Value): Value {
  const end = `/${tenantId}`;
  const toId = (text: string): string =>
    text.endsWith(end) && text.length === idOf(text).length + end.length ? idOf(text) : text;
  const convert = (part: unknown): unknown => {
    if (typeof part === "string") {
      return toId(part);
    }
    if (Array.isArray(part)) {
      return part.map(convert);
    }
    if (part instanceof Map) {
      return new Map([...part].map(([key, member]) => [convert(key), convert(member)]));
    }
    if (isPlainObject(part)) {
      return Object.fromEntries(
        Object.entries(part).map(([name, member]) => [toId(name), convert(member)]),
      );
    }
    return part;
  };
  return convert(value) as Value;
}

/** Bytes, sets and instances of classes stay as they are, because none of them contains keys. */
const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
