import { SdkError, ValidationError } from "../../model/errors.ts";
import { serializeArguments } from "./argument-serialization.ts";
import type { BlockingCall } from "./blocking-worker.ts";
import { unpackError } from "./packed-error.ts";
import type { Outcome } from "./protocol.ts";

/** Options of a blocking call. A time limit takes the place of a `signal`, which the blocked thread could not abort. */
export interface BlockingOptions {
  /**
   * Longest wait for the whole call, its tries and pages included: {@link TimeoutError}.
   *
   * @defaultValue the option `syncTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
}

/** The calls of a resource, each blocking until the answer is there. */
export type BlockingResource<Resource> = {
  readonly [
    Name in keyof Resource as Resource[Name] extends (...args: never[]) => infer Result
      ? Result extends NodeJS.WritableStream
        ? never
        : Name
      : never
  ]: Resource[Name] extends (...args: infer Args) => infer Result
    ? (...args: BlockingArgs<Args>) => BlockingResult<Result>
    : never;
};

/** Every resource of a client, with calls that block. */
export type BlockingResources<Resources> = {
  readonly [Name in keyof Resources]: BlockingResource<Resources[Name]>;
};

/** The same arguments, in the same places, less what can't cross to another thread. */
export type BlockingArgs<Args extends readonly unknown[]> = {
  [Index in keyof Args]: BlockingArg<Args[Index]>;
};

/** An argument that takes a `signal` takes {@link BlockingOptions} in its place. */
export type BlockingArg<Arg> = Arg extends Uncrossable
  ? never
  : "signal" extends (string extends keyof Arg ? never : keyof Arg)
    ? {
        readonly [Name in keyof Arg as Exclude<Name, "signal">]: Exclude<Arg[Name], Uncrossable>;
      } & BlockingOptions
    : Arg;

/** Their other end is in the thread that blocks. */
export type Uncrossable = ((...args: never[]) => unknown) | AsyncIterable<unknown>;

/** A list is an array, a promise what it promises. */
export type BlockingResult<Result> =
  Result extends AsyncIterable<infer Item> ? Item[] : Awaited<Result>;

export interface SyncFacadeOptions {
  /** For calls that say none. */
  readonly timeoutMs: number;
  /** What the `timeoutMs` of a call must be, where it is not. */
  readonly problemWithTimeout: (timeoutMs: unknown) => string | undefined;
  /** Makes a call, and blocks meanwhile. */
  readonly call: (call: BlockingCall) => Outcome;
}

/** The resources again, each of their methods blocking: made from what they are, so it has what they have. */
export function createSyncFacade<Resources extends object>(
  resources: Resources,
  options: SyncFacadeOptions,
): BlockingResources<Resources> {
  const facade: Record<string, object> = {};
  for (const [resource, target] of Object.entries(resources) as [string, object][]) {
    const methods: Record<string, Blocking> = {};
    for (const method of methodsOf(target)) {
      methods[method] = blockingMethod({ resource, method }, options);
    }
    facade[resource] = Object.freeze(methods);
  }
  return Object.freeze(facade) as BlockingResources<Resources>;
}

type Blocking = (...args: readonly unknown[]) => unknown;

function methodsOf(resource: object): Iterable<string> {
  const methods = new Set<string>();
  let prototype = Object.getPrototypeOf(resource) as object;
  // A resource's class may extend others.
  while (prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === "function" && name !== "constructor") {
        methods.add(name);
      }
    }
    prototype = Object.getPrototypeOf(prototype) as object;
  }
  return methods;
}

function blockingMethod(
  name: Pick<BlockingCall, "resource" | "method">,
  options: SyncFacadeOptions,
): Blocking {
  function blocking(...passed: readonly unknown[]): unknown {
    let outcome: Outcome;
    try {
      const { args, timeoutMs = options.timeoutMs } = limited(passed, options);
      outcome = options.call({ ...name, ...serializeArguments(args), timeoutMs });
    } catch (error) {
      if (error instanceof SdkError) {
        // It began in this thread: the caller need not see what lies between.
        Error.captureStackTrace(error, blocking);
      }
      throw error;
    }
    if (outcome.kind === "answered") {
      return outcome.value;
    }
    const error = unpackError(outcome.error);
    error.stack += `\n    called by client.sync.${name.resource}.${name.method}, from\n${framesAbove(blocking)}`;
    throw error;
  }
  return Object.defineProperty(blocking, "name", { value: name.method });
}

/** Takes the time limit out of the last argument, where options are. */
function limited(
  args: readonly unknown[],
  { problemWithTimeout }: SyncFacadeOptions,
): { readonly args: readonly unknown[]; readonly timeoutMs?: number | undefined } {
  const last = args.at(-1);
  if (typeof last !== "object" || last === null || Array.isArray(last)) {
    return { args };
  }
  const { timeoutMs, signal, ...rest } = last as Readonly<Record<string, unknown>>;
  if (signal !== undefined) {
    throw new ValidationError(
      "A blocking call takes no signal: nobody could abort it; give timeoutMs",
    );
  }
  if (timeoutMs === undefined) {
    return { args };
  }
  const problem = problemWithTimeout(timeoutMs);
  if (problem !== undefined) {
    throw new ValidationError(`timeoutMs must be ${problem}`);
  }
  return { args: [...args.slice(0, -1), rest], timeoutMs: Number(timeoutMs) };
}

/** Who called `method`, as a stack has it. */
function framesAbove(method: (...args: never[]) => unknown): string {
  const holder = { stack: "" };
  Error.captureStackTrace(holder, method);
  return holder.stack.slice(holder.stack.indexOf("\n") + 1);
}
