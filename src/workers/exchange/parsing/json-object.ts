/** An object as `JSON.parse` returns it. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON object that can still be changed, for code that builds one while it parses a response. */
export type MutableJsonObject = Record<string, unknown>;

/** Whether a value is an object, and not a list. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value if it is an object, otherwise an object without members. */
export const toObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** The value if it is a list, otherwise an empty list. */
export const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The value if it is a text that is not empty, otherwise `undefined`. */
export const toText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Sets an own member. An assignment to `__proto__` would change the prototype instead. */
export function setMember(target: MutableJsonObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  } else {
    target[key] = value;
  }
}

/** Copies an object without the members that are `undefined`. */
export const withoutUndefined = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** Appends items to the list in a member. The list is created if the member has none. */
export function appendItems(
  target: MutableJsonObject,
  key: string,
  items: readonly unknown[],
): void {
  const earlierValue = target[key];
  const list: unknown[] = Array.isArray(earlierValue) ? earlierValue : [];
  // `push(...items)` would fail for more items than the call stack can hold.
  for (const item of items) {
    list.push(item);
  }
  target[key] = list;
}
