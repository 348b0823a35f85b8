/** A method that replaces a method of the target. */
export type Method = (...args: readonly unknown[]) => unknown;

/** Methods by name. Each replaces the target's method of the same name, and is ignored if the target has none. */
export type Replacements = ReadonlyMap<PropertyKey, Method>;

/**
 * Creates a Proxy that behaves like `target`: it has the same prototype and properties, and its methods are called on
 * the target itself, so that private fields work. Only the methods in `replacements` differ.
 */
export function overrideMethods<Target extends object>(
  target: Target,
  replacements: Replacements,
): Target {
  return new Proxy(target, {
    get: (object, key) => {
      const member: unknown = Reflect.get(object, key, object);
      if (typeof member !== "function") {
        return member;
      }
      const replacement = replacements.get(key);
      if (replacement !== undefined) {
        return replacement;
      }
      return mustReturnOriginal(object, key) || key === "constructor"
        ? member
        : bind(member, object);
    },
    set: (object, key, value) => Reflect.set(object, key, value, object),
  });
}

const bind =
  (method: unknown, target: object): Method =>
  (...args) =>
    Reflect.apply(method as Method, target, args);

/**
 * Whether a Proxy must return the original value of a property. Reading a property that is neither configurable nor
 * writable throws if the Proxy returns another value.
 */
function mustReturnOriginal(target: object, key: PropertyKey): boolean {
  const descriptor = Reflect.getOwnPropertyDescriptor(target, key);
  return (
    descriptor !== undefined && descriptor.configurable === false && descriptor.writable === false
  );
}

export const isObject = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  typeof value === "object" && value !== null;

/** Whether a value has a `then` method. Reading `then` may throw, and a later `await` reads it once more. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  (isObject(value) || typeof value === "function") &&
  typeof Reflect.get(value, "then") === "function";
