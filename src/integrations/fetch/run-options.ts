import { AsyncLocalStorage } from "node:async_hooks";
import { OptionError } from "../../main/index.ts";
import type { KeyValues } from "../../main/index.ts";

/** Options for the runs of calls that are made inside a function. */
export interface CallRunOptions {
  /** @defaultValue a name that the call determines */
  readonly name?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: KeyValues | undefined;
}

const optionNames = ["name", "tags", "metadata"];

const storage = new AsyncLocalStorage<CallRunOptions>();

/**
 * Calls `fn` and returns its result. The options apply to the runs of all model calls that `fn` makes, also after it
 * has awaited something. In a nested call of this function, tags and metadata are added to those of the outer call.
 *
 * @throws `OptionError` if an option is unknown or has a value of the wrong type.
 */
export function withRunOptions<Result>(options: CallRunOptions, fn: () => Result): Result {
  checkRunOptions("withRunOptions", options, optionNames);
  return storage.run(mergeRunOptions(storage.getStore(), options), fn);
}

/** @throws {@link OptionError} if an option is unknown or has a value of the wrong type. */
export function checkRunOptions(
  functionName: string,
  options: unknown,
  knownNames: readonly string[],
): void {
  if (typeof options !== "object" || options === null) {
    throw new OptionError(`The options of ${functionName} must be an object.`);
  }
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (!knownNames.includes(name)) {
      throw new OptionError(
        `${functionName} has no option "${name}". Its options are ${knownNames.join(", ")}.`,
      );
    }
    const type = optionTypes.get(name);
    if (value !== undefined && type !== undefined && !type.allows(value)) {
      throw new OptionError(`The option ${name} of ${functionName} must be ${type.name}.`);
    }
  }
}

/** The type of each option: its name for the error message, and a check. */
const optionTypes: ReadonlyMap<
  string,
  { readonly name: string; readonly allows: (value: unknown) => boolean }
> = new Map([
  ["name", { name: "a string", allows: (value) => typeof value === "string" }],
  [
    "tags",
    {
      name: "a list of strings",
      allows: (value) => Array.isArray(value) && value.every((tag) => typeof tag === "string"),
    },
  ],
  [
    "metadata",
    {
      name: "an object",
      allows: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    },
  ],
]);

/** Returns the options for a call that is made now: those of {@link withRunOptions}, merged with `defaults`. */
export const currentRunOptions = (defaults: CallRunOptions): CallRunOptions =>
  mergeRunOptions(defaults, storage.getStore());

function mergeRunOptions(
  outer: CallRunOptions | undefined,
  inner: CallRunOptions | undefined,
): CallRunOptions {
  if (outer === undefined || inner === undefined) {
    return outer ?? inner ?? {};
  }
  return {
    name: inner.name ?? outer.name,
    tags: [...(outer.tags ?? []), ...(inner.tags ?? [])],
    metadata: { ...outer.metadata, ...inner.metadata },
  };
}
