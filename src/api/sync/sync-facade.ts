import { SdkError, ValidationError } from "../../model/errors.ts";
import { serializeArguments } from "./argument-serialization.ts";
import type { BlockingCall } from "./blocking-worker.ts";
import { unpackError } from "./packed-error.ts";
import type { Outcome } from "./protocol.ts";

/** Options of a blocking call: a time limit instead of a `signal`, which a blocked thread could not abort. */
export interface BlockingOptions {
  /**
   * Longest time in milliseconds for the whole call, including its retries and pages. After it the call throws
   * {@link TimeoutError}.
   *
   * @defaultValue the client's option `syncTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
}

/** The methods of a resource, each blocking until its result has arrived. */
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

/** Every resource of a client, with blocking methods. */
export type BlockingResources<Resources> = {
  readonly [Name in keyof Resources]: BlockingResource<Resources[Name]>;
};

/** The types of the arguments of a blocking method: those of the original method, converted by {@link BlockingArg}. */
export type BlockingArgs<Args extends readonly unknown[]> = {
  [Index in keyof Args]: BlockingArg<Args[Index]>;
};

/**
 * The type of one argument of a blocking method. {@link BlockingOptions} replace the option `signal`, and values that
 * can't be sent to another thread are not accepted.
 */
export type BlockingArg<Arg> = Arg extends NonTransferable
  ? never
  : "signal" extends (string extends keyof Arg ? never : keyof Arg)
    ? {
        readonly [Name in keyof Arg as Exclude<Name, "signal">]: Exclude<
          Arg[Name],
          NonTransferable
        >;
      } & BlockingOptions
    : Arg;

/** Types of values that can't be sent to another thread, because their code would have to run in the blocked thread. */
export type NonTransferable = ((...args: never[]) => unknown) | AsyncIterable<unknown>;

/** The result of a blocking method: an array instead of an async iterable, and the value instead of a promise. */
export type BlockingResult<Result> =
  Result extends AsyncIterable<infer Item> ? Item[] : Awaited<Result>;

/** Options of {@link createSyncFacade}. */
export interface SyncFacadeOptions {
  /** Time limit in milliseconds of calls that don't give one. */
  readonly timeoutMs: number;
  /** Returns a description of the allowed values if `timeoutMs` is invalid, otherwise `undefined`. */
  readonly findTimeoutProblem: (timeoutMs: unknown) => string | undefined;
  /** Makes a call and blocks until it has ended. */
  readonly call: (call: BlockingCall) => Outcome;
}

/**
 * Creates blocking versions of all methods of the resources. The methods are found by reflection, so every
 * method of a resource class gets one.
 */
export function createSyncFacade<Resources extends object>(
  resources: Resources,
  options: SyncFacadeOptions,
): BlockingResources<Resources> {
  const facade: Record<string, object> = {};
  for (const [resource, target] of Object.entries(resources) as [string, object][]) {
    const methods: Record<string, BlockingMethod> = {};
    for (const method of listMethods(target)) {
      methods[method] = createBlockingMethod({ resource, method }, options);
    }
    facade[resource] = Object.freeze(methods);
  }
  return Object.freeze(facade) as BlockingResources<Resources>;
}

/** The blocking version of a resource's method. */
type BlockingMethod = (...args: readonly unknown[]) => unknown;

function listMethods(resource: object): Iterable<string> {
  const methods = new Set<string>();
  let prototype = Object.getPrototypeOf(resource) as object;
  // The loop also visits the superclasses of a resource.
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

function createBlockingMethod(
  name: Pick<BlockingCall, "resource" | "method">,
  options: SyncFacadeOptions,
): BlockingMethod {
  function callBlocking(...callArgs: readonly unknown[]): unknown {
    let outcome: Outcome;
    try {
      const { args, timeoutMs = options.timeoutMs } = extractTimeout(callArgs, options);
      outcome = options.call({ ...name, ...serializeArguments(args), timeoutMs });
    } catch (error) {
      if (error instanceof SdkError) {
        // The error was created in this thread. Remove the frames of this module from its stack.
        Error.captureStackTrace(error, callBlocking);
      }
      throw error;
    }
    if (outcome.kind === "succeeded") {
      return outcome.value;
    }
    const error = unpackError(outcome.error);
    error.stack += `\n    called by client.sync.${name.resource}.${name.method}, from\n${captureCallerFrames(callBlocking)}`;
    throw error;
  }
  return Object.defineProperty(callBlocking, "name", { value: name.method });
}

/** Removes the time limit from the last argument, if that is an options object. */
function extractTimeout(
  args: readonly unknown[],
  { findTimeoutProblem }: SyncFacadeOptions,
): { readonly args: readonly unknown[]; readonly timeoutMs?: number | undefined } {
  const lastArgument = args.at(-1);
  if (typeof lastArgument !== "object" || lastArgument === null || Array.isArray(lastArgument)) {
    return { args };
  }
  const { timeoutMs, signal, ...otherOptions } = lastArgument as Readonly<Record<string, unknown>>;
  if (signal !== undefined) {
    throw new ValidationError(
      "A blocking call takes no signal, because the blocked thread could not abort it; pass timeoutMs instead",
    );
  }
  if (timeoutMs === undefined) {
    return { args };
  }
  const problem = findTimeoutProblem(timeoutMs);
  if (problem !== undefined) {
    throw new ValidationError(`timeoutMs must be ${problem}`);
  }
  return { args: [...args.slice(0, -1), otherOptions], timeoutMs: Number(timeoutMs) };
}

/** Returns the stack frames of the caller of `method`. */
function captureCallerFrames(method: (...args: never[]) => unknown): string {
  const target = { stack: "" };
  Error.captureStackTrace(target, method);
  return target.stack.slice(target.stack.indexOf("\n") + 1);
}
