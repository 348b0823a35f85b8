// Ids are unique within a tenant, keys within the database. The key of a row is its id, or, if a row of another
// tenant already had that key, a qualified key: the id, a slash and the tenant id.

/** Kinds of rows whose key may differ from their id, because the rows of all tenants are in one table. */
export type KeyKind = "run" | "project" | "dataset";

/** Characters of an id, which is a UUID. */
export const idLength = 36;

/** The id by which a tenant refers to a row, given the row's key. */
export const idOf = (key: string): string => key.slice(0, idLength);

/** Creates the key of a row whose id another tenant uses, too. */
export const createQualifiedKey = (id: string, tenantId: string): string => `${id}/${tenantId}`;

/** Finds and assigns the row keys of a tenant's ids. An engine may return its result at once or as a promise. */
export interface RowKeys {
  keyOf(kind: KeyKind, tenantId: string, id: string): string | Promise<string>;
  /**
   * Assigns the qualified key to an id whose plain key belongs to another tenant, and returns the key. The references
   * to this id that the tenant has already stored are updated.
   */
  assignQualifiedKey(kind: KeyKind, tenantId: string, id: string): string | Promise<string>;
}

/**
 * Returns a copy in which ids replace the tenant's qualified keys, at any depth. No other text is mistaken for such a
 * key, because a qualified key has a certain length and ends with the tenant id.
 */
export function toIds<Value>(tenantId: string, value: Value): Value {
  const keySuffix = `/${tenantId}`;
  const toId = (text: string): string =>
    text.endsWith(keySuffix) && text.length === idOf(text).length + keySuffix.length
      ? idOf(text)
      : text;
  const convert = (nestedValue: unknown): unknown => {
    if (typeof nestedValue === "string") {
      return toId(nestedValue);
    }
    if (Array.isArray(nestedValue)) {
      return nestedValue.map(convert);
    }
    if (nestedValue instanceof Map) {
      return new Map([...nestedValue].map(([key, member]) => [convert(key), convert(member)]));
    }
    if (isPlainObject(nestedValue)) {
      return Object.fromEntries(
        Object.entries(nestedValue).map(([name, member]) => [toId(name), convert(member)]),
      );
    }
    return nestedValue;
  };
  return convert(value) as Value;
}

/** Whether keys are searched for in an object. Bytes, sets and instances of classes never contain keys. */
const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
