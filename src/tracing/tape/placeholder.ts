/** A method in place of another. */
export type Method = (...args: readonly unknown[]) => unknown;

/** Methods to put in place of a target's own; one that the target lacks stays lacking. */
export type Replacements = ReadonlyMap<PropertyKey, Method>;

/**
 * An object that passes for `target`: same prototype, same properties, and its methods work on
 * the target itself, private fields included. Only the named methods are replaced.
 */
export function createPlaceholder<Target extends object>(
  target: Target,
  replacements: Replacements,
): Target {
  return new Proxy(target, {
    get: (inner, key) => {
      const member: unknown = Reflect.get(inner, key, inner);
      if (typeof member !== "function") {
        return member;
      }
      const replacement = replacements.get(key);
      if (replacement !== undefined) {
        return replacement;
      }
      return isPinned(inner, key) || key === "constructor" ? member : bind(member, inner);
    },
    set: (inner, key, value) => Reflect.set(inner, key, value, inner),
  });
}

const bind =
  (method: unknown, target: object): Method =>
  (...args) =>
    Reflect.apply(method as Method, target, args);

/** What may not be answered differently, by the rules for proxies. */
function isPinned(target: object, key: PropertyKey): boolean {
  const own = Reflect.getOwnPropertyDescriptor(target, key);
  return own !== undefined && own.configurable === false && own.writable === false;
}

export const isObject = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  typeof value === "object" && value !== null;

/** Anything that can be awaited. Reads `then` once more than `await` would; it may throw. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  (isObject(value) || typeof value === "function") &&
  typeof Reflect.get(value, "then") === "function";
