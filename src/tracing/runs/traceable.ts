import { formatValue } from "../../model/options/option-problems.ts";
import type { KeyValues, RunType } from "../../model/run.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { AssignedName } from "./assigned-name.ts";
import { CallRecording, processPayload } from "./call-recording.ts";
import type { AggregateChunks, ProcessPayload } from "./call-recording.ts";
import { startWithCheckedOptions, withRun } from "./context.ts";
import { findDefaultClient } from "./default-client.ts";
import { toPayload } from "../tape/payload.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { RunOptions } from "./run-options.ts";
import { watchResult } from "./results.ts";
import { uncountedLosses } from "../queue/ledger.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/** Options of {@link traceable}: how the runs of a traced function are recorded. */
export interface TraceableOptions {
  /**
   * @defaultValue the function's name; without one, the name of the variable, property or field to which the traced
   * function is assigned directly, if the program's source can be read; otherwise the run type
   */
  readonly name?: string | undefined;
  /** @defaultValue `"chain"` */
  readonly runType?: RunType | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: KeyValues | undefined;
  /** The conversation that each call belongs to; the runs below inherit it. Recorded as `metadata.thread_id`. */
  readonly threadId?: string | undefined;
  /** The person that each call is for; the runs below inherit it. Recorded as `metadata.user_id`. */
  readonly userId?: string | undefined;
  /** The id of the dataset example that the function is evaluated on; a UUID. */
  readonly referenceExampleId?: string | undefined;
  /** @defaultValue the parent's project, or the client's */
  readonly projectName?: string | undefined;
  /**
   * The client that records the runs.
   *
   * @defaultValue the current run's client, else the client set by `setDefaultClient`, else the program's first
   * open client, else a client that the environment configures. Without any of these, nothing is recorded.
   */
  readonly client?: TracingClient | undefined;
  /**
   * Converts the inputs into an object that may be recorded. It is called once for each call and must be synchronous.
   * If it throws, or does not return an object, a marker is recorded in place of the inputs.
   */
  readonly processInputs?: ProcessPayload | undefined;
  /**
   * As `processInputs`, for the outputs. For a stream it receives what `aggregator` returned, or `{ outputs: chunks }`
   * without that option.
   */
  readonly processOutputs?: ProcessPayload | undefined;
  /**
   * Converts the chunks of a stream into the outputs to record, for example into one text. It is called once when the
   * stream ends, also with the chunks so far if the stream fails or is left early, and must be synchronous. If it
   * throws or returns a promise or `undefined`, this causes a warning, and the chunks are recorded.
   */
  readonly aggregator?: AggregateChunks | undefined;
  /** Also records each chunk of a stream as a `new_token` event. @defaultValue `false` */
  readonly recordTokens?: boolean | undefined;
}

const traceableOptionNames: KeyTable<TraceableOptions> = {
  name: 1,
  runType: 1,
  tags: 1,
  metadata: 1,
  threadId: 1,
  userId: 1,
  referenceExampleId: 1,
  projectName: 1,
  client: 1,
  processInputs: 1,
  processOutputs: 1,
  aggregator: 1,
  recordTokens: 1,
};

/** Any function that can be traced. */
export type TraceableFunction = (...args: never[]) => unknown;

/**
 * Wraps a function so that each call is recorded as a run: as a child of the current run, or as the root of a new
 * trace. Traced functions that `fn` calls and awaits become children of that run. The wrapper has the type and
 * properties of `fn`, passes `this` on, and returns or throws what `fn` returns or throws. Promises, generators and
 * streams are observed until they end. A failure to record never reaches the caller.
 *
 * The inputs are recorded as follows: no argument as `{}`, a single plain object unchanged, any other single value as
 * `{ input: value }`, several arguments as `{ args: [...] }`. The outputs: a plain object unchanged, any other value as
 * `{ outputs: value }`, a stream as `{ outputs: [chunk, ...] }` or as the value that `aggregator` returns for its
 * chunks.
 *
 * @throws `TypeError` if `fn` is not a function.
 */
export function traceable<Fn extends TraceableFunction>(
  fn: Fn,
  options: TraceableOptions = {},
): Fn {
  assertFunction(fn);
  const optionCheck = { isDone: false };
  const assignedName = captureAssignedName(fn, options);
  return new Proxy(fn, {
    apply: (target, self, args: unknown[]): unknown => {
      const call = (): unknown => Reflect.apply(target, self, args);
      let recording: CallRecording | undefined;
      try {
        recording = beginRecording(fn, { options, args, optionCheck, assignedName });
      } catch {
        // The program's stack is exhausted. This error must not reach the program: only what `target` throws may. The
        // same holds for the other places below that increment `localUncountedLosses`.
        localUncountedLosses.records += 1;
      }
      if (recording === undefined) {
        return call();
      }
      let result: unknown;
      let isEntered = false;
      try {
        result = withRun(recording.run, () => {
          isEntered = true;
          return call();
        });
      } catch (error) {
        if (isEntered) {
          try {
            recording.recordFailure(error);
          } catch {
            localUncountedLosses.records += 1;
          }
          throw error;
        }
        localUncountedLosses.records += 1;
        return call();
      }
      try {
        return watchResult(result, recording);
      } catch {
        localUncountedLosses.records += 1;
        return result;
      }
    },
  });
}

function assertFunction(fn: unknown): void {
  if (typeof fn !== "function") {
    throw new TypeError(
      `traceable: the first argument must be a function, not ${formatValue(fn)}. Pass the function itself, and options such as { name } as the second argument`,
    );
  }
}

/**
 * Captures where the traced function is created, so that its name can be found later. Returns `undefined` if the
 * function or the options already have a name.
 */
function captureAssignedName(
  fn: TraceableFunction,
  options: TraceableOptions,
): AssignedName | undefined {
  try {
    return fn.name === "" && options.name === undefined ? new AssignedName(traceable) : undefined;
  } catch {
    // The options can't be read, or the stack is exhausted. The runs are named after their type.
    return undefined;
  }
}

interface TracedCall {
  /**
   * Whether the options were checked for unknown names. This is done once, as soon as there is a client that can log a
   * warning.
   */
  readonly optionCheck: { isDone: boolean };
  readonly options: TraceableOptions;
  readonly args: readonly unknown[];
  readonly assignedName: AssignedName | undefined;
}

/** Starts the run of a call. Returns `undefined` if there is no client to record it. */
function beginRecording(fn: TraceableFunction, call: TracedCall): CallRecording | undefined {
  try {
    const { options } = call;
    const client = options.client ?? findDefaultClient();
    if (client === undefined) {
      return undefined;
    }
    if (!call.optionCheck.isDone) {
      warnOfUnknown(options, traceableOptionNames, client[recorder]);
      call.optionCheck.isDone = true;
    }
    const run = startWithCheckedOptions(
      client,
      new CallRunOptions(options.name ?? nameOf(fn, call), call, client),
    );
    return new CallRecording(run, options);
  } catch (error) {
    // Creating a client from the environment failed, which was already logged, or the stack is exhausted. The call
    // continues unrecorded.
    localUncountedLosses.records += error instanceof RangeError ? 1 : 0;
    return undefined;
  }
}

/** Returns an empty text for a function without a name. The run is then named after its run type. */
const nameOf = (fn: TraceableFunction, { assignedName }: TracedCall): string =>
  fn.name === "" ? (assignedName?.find() ?? "") : fn.name;

/** Options for the run of a call. This is a class because a getter on a prototype costs nothing for each call. */
class CallRunOptions implements RunOptions {
  readonly name: string;
  readonly runType: RunType | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: KeyValues | undefined;
  readonly threadId: string | undefined;
  readonly userId: string | undefined;
  readonly referenceExampleId: string | undefined;
  readonly projectName: string | undefined;
  readonly #call: TracedCall;
  readonly #client: TracingClient;

  constructor(name: string, call: TracedCall, client: TracingClient) {
    const { runType, tags, metadata, threadId, userId, referenceExampleId, projectName } =
      call.options;
    this.name = name;
    this.runType = runType;
    this.tags = tags;
    this.metadata = metadata;
    this.threadId = threadId;
    this.userId = userId;
    this.referenceExampleId = referenceExampleId;
    this.projectName = projectName;
    this.#call = call;
    this.#client = client;
  }

  /** Read once, and only if the run is recorded. */
  get inputs(): KeyValues {
    const { args, options } = this.#call;
    const inputs = args.length > 1 ? { args } : (toPayload(args[0], "input") ?? {});
    const process = options.processInputs;
    return process === undefined
      ? inputs
      : processPayload(inputs, { process, payloadName: "inputs", client: this.#client });
  }
}
