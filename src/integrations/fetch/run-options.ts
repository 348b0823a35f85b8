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
 * Calls `fn` with options for the runs of all model calls that it makes, also after it awaited something, and returns its
 * result. Inside another call of this function, tags and metadata are added to those of the outer call.
 *
 * @throws `OptionError`: an option is unknown.
 */
export function withRunOptions<Result>(options: CallRunOptions, fn: () => Result): Result {
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name)) {
      throw new OptionError(
        `withRunOptions has no option "${name}". Its options are ${optionNames.join(", ")}.`,
      );
    }
  }
  return storage.run(mergeRunOptions(storage.getStore(), options), fn);
}

/** The options that apply to a call that is made now, in addition to `defaults`. */
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
