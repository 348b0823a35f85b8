import { ValidationError } from "../../model/errors.ts";
import { unknownKeysOf, unknownKeyText } from "../../model/unknown-keys.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";

type IsOptions<Arg> = [Exclude<Arg, string | Iterable<unknown> | AsyncIterable<unknown>>] extends [
  never,
]
  ? false
  : true;

/** The keys that stand under a key, of an object or of each object of a list; anything else is not checked. */
export type NestedKeys = Readonly<Record<string, unknown>>;

type Keys<Args extends readonly unknown[]> = {
  readonly [Index in keyof Args]-?: IsOptions<NonNullable<Args[Index]>> extends true
    ? KeyTable<Exclude<NonNullable<Args[Index]>, Iterable<unknown>>>
    : null | readonly [NestedKeys];
};

/** The arguments of each call of a resource. `throws`: it answers no promise, and so throws at the call. */
export type CallTable<Resource> = {
  readonly [
    Name in keyof Resource as Resource[Name] extends (...args: never[]) => unknown ? Name : never
  ]-?: Resource[Name] extends (...args: infer Args) => infer Result
    ? Result extends Promise<unknown>
      ? { readonly args: Keys<Args> }
      : { readonly args: Keys<Args>; readonly throws: true }
    : never;
};

/** The arguments of each call of each resource. */
export type CallTables<Resources> = {
  readonly [Name in keyof Resources]: CallTable<Resources[Name]>;
};

interface CallKeys {
  readonly args: readonly unknown[];
  readonly throws?: true;
}

/**
 * The resources again, whose calls refuse an options object with a key that they do not have, before
 * anything is sent. Free-form objects, such as inputs and metadata, are not looked into. Calls that a
 * resource makes of itself are not checked.
 */
export function refuseUnknownKeys<Resources extends object>(
  resources: Resources,
  tables: CallTables<Resources>,
): Resources {
  const checked = new Map<string, object>(Object.entries(resources));
  for (const [name, calls] of Object.entries(tables)) {
    const resource = checked.get(name);
    if (resource !== undefined) {
      checked.set(name, checkedResource(name, resource, calls as object));
    }
  }
  return Object.fromEntries(checked) as Resources;
}

/** An object of the same class whose own methods check their arguments and call those of `resource`. */
function checkedResource(name: string, resource: object, calls: object): object {
  const facade = Object.create(Object.getPrototypeOf(resource) as object) as object;
  for (const [method, { args: keys, throws }] of Object.entries(calls) as [string, CallKeys][]) {
    const original = Reflect.get(resource, method) as (...args: unknown[]) => unknown;
    const checked = (...args: unknown[]): unknown => {
      const problem = problemWith(`${name}.${method}`, args, keys);
      if (problem === undefined) {
        return Reflect.apply(original, resource, args);
      }
      if (throws === true) {
        throw problem;
      }
      return Promise.reject(problem);
    };
    Object.defineProperty(checked, "name", { value: method });
    // As methods of a class are: tests may replace them, and what lists the object finds none.
    Object.defineProperty(facade, method, {
      value: checked,
      configurable: true,
      writable: true,
      enumerable: false,
    });
  }
  return facade;
}

/** Lists are narrowed by their keys: a misspelt one would widen the answer. */
const kindOf = (call: string): string =>
  /\.(?:list|count|stats|size)/.test(call) ? "filter" : "option";

function problemWith(
  call: string,
  args: readonly unknown[],
  keys: readonly unknown[],
): Error | undefined {
  try {
    checkArguments(call, args, keys);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** @throws {@link ValidationError} an argument is no object of options, or has a key that the call has not. */
function checkArguments(call: string, args: readonly unknown[], keys: readonly unknown[]): void {
  for (const [index, known] of keys.entries()) {
    const given = args[index];
    if (known === null || given === undefined) {
      continue;
    }
    if (
      typeof given !== "object" ||
      given === null ||
      Array.isArray(given) !== Array.isArray(known)
    ) {
      const wanted = Array.isArray(known) ? "a list" : `an object of ${kindOf(call)}s`;
      throw new ValidationError(
        `${call} takes ${wanted} as argument ${index + 1}, not ${nameOf(given)}`,
      );
    }
    checkValue(given, known, { call, path: "" });
  }
}

function nameOf(value: unknown): string {
  if (value === null) {
    return "null";
  }
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

interface ArgumentPosition {
  readonly call: string;
  /** Where the object stands below the argument; empty for the argument itself. */
  readonly path: string;
}

/**
 * Refuses a key that is not among those known, and those of the objects below likewise.
 *
 * @throws {@link ValidationError} it names the call, and the key that was probably meant.
 */
export function checkValue(given: unknown, known: unknown, { call, path }: ArgumentPosition): void {
  if (Array.isArray(known)) {
    const items: readonly unknown[] = Array.isArray(given) ? given : [];
    items.forEach((item, index) => checkValue(item, known[0], { call, path: `${path}[${index}]` }));
    return;
  }
  if (!isKeyed(given, path) || typeof known !== "object" || known === null) {
    return;
  }
  const [unknown] = unknownKeysOf(given, Object.keys(known));
  if (unknown !== undefined) {
    const where = path === "" ? "" : ` (in ${path.replace(/^\./, "")})`;
    throw new ValidationError(`${call}: ${unknownKeyText(kindOf(call), unknown)}${where}`);
  }
  for (const [name, below] of Object.entries(known)) {
    if (typeof below === "object" && below !== null) {
      checkValue(Reflect.get(given, name), below, { call, path: `${path}.${name}` });
    }
  }
}

/** Whether its keys are a caller's words: of what stands below, a Date or bytes are values. */
const isKeyed = (value: unknown, path: string): value is object =>
  typeof value === "object" &&
  value !== null &&
  (path === "" || [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null));
