import { ValidationError } from "../../model/errors.ts";
import { unknownKeysOf, unknownKeyText } from "../../model/unknown-keys.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { abortSignal, describeType } from "./argument-checks.ts";
import type { ArgumentCheck } from "./argument-checks.ts";

/** Whether the type of an argument is an options object, and not a text or a list. */
type IsOptions<Arg> = [Exclude<Arg, string | Iterable<unknown> | AsyncIterable<unknown>>] extends [
  never,
]
  ? false
  : true;

/** Allowed keys of a nested object, or of each object in a list. Values of any other kind are not checked. */
export type NestedKeys = Readonly<Record<string, unknown>>;

/**
 * For each argument of a method: the table of its allowed keys, an {@link ArgumentCheck}, or `null` if it is not
 * checked. The value of a key in a table may be an {@link ArgumentCheck} too.
 */
type ArgumentKeys<Args extends readonly unknown[]> = {
  readonly [Index in keyof Args]-?: IsOptions<NonNullable<Args[Index]>> extends true
    ? KeyTable<Exclude<NonNullable<Args[Index]>, Iterable<unknown>>>
    : null | ArgumentCheck | readonly [NestedKeys];
};

/**
 * For each method of a resource: the allowed keys of its arguments, and checks of some of their values. `throws` marks
 * a method that returns no promise. For an invalid argument, it throws an error instead of returning a rejected
 * promise.
 */
export type CallTable<Resource> = {
  readonly [
    Name in keyof Resource as Resource[Name] extends (...args: never[]) => unknown ? Name : never
  ]-?: Resource[Name] extends (...args: infer Args) => infer Result
    ? Result extends Promise<unknown>
      ? { readonly args: ArgumentKeys<Args> }
      : { readonly args: ArgumentKeys<Args>; readonly throws: true }
    : never;
};

/** The {@link CallTable} of each resource, by the resource's name. */
export type CallTables<Resources> = {
  readonly [Name in keyof Resources]: CallTable<Resources[Name]>;
};

/** The entry of one method in a {@link CallTable}. */
interface CallKeys {
  readonly args: readonly unknown[];
  /** Set for a method that returns no promise: it throws errors instead of returning a rejected promise. */
  readonly throws?: true;
}

/**
 * Wraps resources so that each method refuses an options object that is missing, has an unknown key, or has a value
 * that its {@link ArgumentCheck} refuses, before anything is sent. Free-form objects, such as inputs and metadata, are
 * not checked, and neither are calls that a resource makes to its own methods.
 */
export function refuseUnknownKeys<Resources extends object>(
  resources: Resources,
  tables: CallTables<Resources>,
): Resources {
  const checkedResources = new Map<string, object>(Object.entries(resources));
  for (const [name, callTable] of Object.entries(tables)) {
    const resource = checkedResources.get(name);
    if (resource !== undefined) {
      checkedResources.set(name, wrapResource(name, resource, callTable as object));
    }
  }
  return Object.fromEntries(checkedResources) as Resources;
}

/**
 * Returns an object of the same class whose methods check their arguments and then call the same methods of `resource`.
 */
function wrapResource(name: string, resource: object, callTable: object): object {
  const wrapper = Object.create(Object.getPrototypeOf(resource) as object) as object;
  for (const [method, { args: argumentKeys, throws }] of Object.entries(callTable) as [
    string,
    CallKeys,
  ][]) {
    const original = Reflect.get(resource, method) as (...args: unknown[]) => unknown;
    const checkedMethod = (...args: unknown[]): unknown => {
      const error = findProblem(`${name}.${method}`, args, {
        argumentKeys,
        // `length` counts only the parameters before the first one with a default value: the required arguments.
        requiredCount: original.length,
      });
      if (error === undefined) {
        return Reflect.apply(original, resource, args);
      }
      if (throws === true) {
        throw error;
      }
      return Promise.reject(error);
    };
    Object.defineProperty(checkedMethod, "name", { value: method });
    // The method is not enumerable, like methods of a class, so code that lists the object's keys does not see it.
    // It is writable, so that tests can replace it.
    Object.defineProperty(wrapper, method, {
      value: checkedMethod,
      configurable: true,
      writable: true,
      enumerable: false,
    });
  }
  return wrapper;
}

/** Returns what a key is called in messages: a `filter` in calls that select items, otherwise an `option`. */
const nameKeyKind = (call: string): string =>
  /\.(?:list|count|stats|size)/.test(call) ? "filter" : "option";

/** What the arguments of a method must be. */
interface ArgumentRules {
  readonly argumentKeys: readonly unknown[];
  /** Number of arguments at the beginning that can't be left out. */
  readonly requiredCount: number;
}

function findProblem(
  call: string,
  args: readonly unknown[],
  rules: ArgumentRules,
): Error | undefined {
  try {
    checkArguments(call, args, rules);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/**
 * Checks the arguments of a call.
 *
 * @throws {@link ValidationError} if an argument is missing, has the wrong type, or has an unknown key or a wrong
 * value.
 */
function checkArguments(
  call: string,
  args: readonly unknown[],
  { argumentKeys, requiredCount }: ArgumentRules,
): void {
  // Check the given arguments first: an invalid one explains the mistake better than a missing one.
  const indexes = [...argumentKeys.keys()];
  for (const index of indexes.filter((one) => args[one] !== undefined)) {
    checkArgument(args[index], argumentKeys[index], { call, index });
  }
  for (const index of indexes.filter((one) => one < requiredCount && args[one] === undefined)) {
    checkArgument(undefined, argumentKeys[index], { call, index });
  }
}

function checkArgument(
  argument: unknown,
  allowed: unknown,
  { call, index }: { readonly call: string; readonly index: number },
): void {
  if (allowed === null) {
    return;
  }
  if (typeof allowed === "function") {
    const problem = (allowed as ArgumentCheck)(argument);
    if (problem !== undefined) {
      throw new ValidationError(`${call}: argument ${index + 1} ${problem}`);
    }
    return;
  }
  if (
    typeof argument !== "object" ||
    argument === null ||
    Array.isArray(argument) !== Array.isArray(allowed)
  ) {
    const expected = Array.isArray(allowed) ? "a list" : `an object of ${nameKeyKind(call)}s`;
    throw new ValidationError(
      `${call} takes ${expected} as argument ${index + 1}, not ${describeType(argument)}`,
    );
  }
  checkValue(argument, allowed, { call, path: "" });
}

/** Advice for options of the client that are passed to a single call, by option. They apply to all calls. */
const clientOptionAdvice: ReadonlyMap<string, string> = new Map([
  [
    "timeoutMs",
    "it is an option of `new Client` and limits each attempt; pass a `signal` to limit the call",
  ],
  ["attempts", "it is an option of `new Client`"],
]);

/** Where a checked value is, for the error message. */
interface ArgumentPosition {
  readonly call: string;
  /** Path of the nested object within the argument; empty for the argument itself. */
  readonly path: string;
}

/**
 * Refuses an object with a key that is not allowed or a value that its check refuses, and checks its nested objects in
 * the same way.
 *
 * @throws {@link ValidationError} if a key is not allowed, or a value is wrong. The message contains the call and, for
 * a key that is not allowed, the most similar allowed key.
 */
export function checkValue(
  value: unknown,
  allowed: unknown,
  { call, path }: ArgumentPosition,
): void {
  if (typeof allowed === "function") {
    const problem = value === undefined ? undefined : (allowed as ArgumentCheck)(value);
    if (problem !== undefined) {
      throw new ValidationError(`${call}: ${path.replace(/^\./, "")} ${problem}`);
    }
    return;
  }
  if (Array.isArray(allowed)) {
    if (value !== undefined && value !== null) {
      checkList(value, allowed[0], { call, path });
    }
    return;
  }
  if (!hasCheckedKeys(value, path) || typeof allowed !== "object" || allowed === null) {
    return;
  }
  const [unknownKey] = unknownKeysOf(value, Object.keys(allowed));
  if (unknownKey !== undefined) {
    const location = path === "" ? "" : ` (in ${path.replace(/^\./, "")})`;
    const kind = nameKeyKind(call);
    const advice = path === "" ? clientOptionAdvice.get(unknownKey.name) : undefined;
    const text =
      advice === undefined
        ? unknownKeyText(kind, unknownKey)
        : `unknown ${kind} \`${unknownKey.name}\`; ${advice}`;
    throw new ValidationError(`${call}: ${text}${location}`);
  }
  for (const [name, nested] of Object.entries(allowed)) {
    if (typeof nested === "function" || (typeof nested === "object" && nested !== null)) {
      checkValue(Reflect.get(value, name), nested, { call, path: `${path}.${name}` });
    }
  }
}

/**
 * @throws {@link ValidationError} if the value is not a list of objects, or an object has a key that is not allowed.
 */
function checkList(value: unknown, allowed: unknown, { call, path }: ArgumentPosition): void {
  const items: readonly unknown[] | undefined = Array.isArray(value) ? value : undefined;
  const wrongItem = items?.find((item) => typeof item !== "object" || item === null);
  if (items === undefined || wrongItem !== undefined) {
    const name = path === "" ? "the list" : path.replace(/^\./, "");
    const given =
      items === undefined ? describeType(value) : `a list with ${describeType(wrongItem)}`;
    throw new ValidationError(`${call}: ${name} must be a list of objects, not ${given}`);
  }
  items.forEach((item, index) => checkValue(item, allowed, { call, path: `${path}[${index}]` }));
}

/**
 * Whether the keys of `value` are checked. This holds for every argument, and for nested plain objects, but not for
 * other nested objects such as a Date or bytes.
 */
const hasCheckedKeys = (value: unknown, path: string): value is object =>
  typeof value === "object" &&
  value !== null &&
  (path === "" || [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null));

/** The option names of {@link CallOptions}. */
export const callOptionKeys = { signal: abortSignal } as const;
