import type { KeyValues, RunType } from "../../model/run.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { CallRecording, processPayload } from "./call-recording.ts";
import type { ProcessPayload } from "./call-recording.ts";
import { startChecked, withRun } from "./context.ts";
import { defaultClient } from "./default-client.ts";
import { toPayload } from "../tape/payload.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { RunOptions } from "./run-options.ts";
import { watchResult } from "./results.ts";
import { uncounted } from "../queue/stack-room.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/** A binding of this module's own: in a bundle an import may be a getter, for which there is no stack. */
const counted = uncounted;

/** How the runs of a traced function are recorded. */
export interface TraceableOptions {
  /** @defaultValue the function's own name, or the run type where it has none */
  readonly name?: string | undefined;
  /** @defaultValue `"chain"` */
  readonly runType?: RunType | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: KeyValues | undefined;
  /** @defaultValue the parent's project, or the client's */
  readonly projectName?: string | undefined;
  /**
   * @defaultValue the current run's client, else that of `setDefaultClient`, else the program's first that is
   * open, else one that the environment configures; without any, nothing is recorded
   */
  readonly client?: TracingClient | undefined;
  /**
   * Makes of the inputs what may be recorded. Called once per call, must return at once. If it
   * throws, or returns no object or a promise, a marker is recorded in place of the inputs.
   */
  readonly processInputs?: ProcessPayload | undefined;
  /** As `processInputs`, for the outputs; of a stream it gets `{ outputs: chunks }`. */
  readonly processOutputs?: ProcessPayload | undefined;
  /** Records each chunk of a stream as a `new_token` event too. @defaultValue `false` */
  readonly recordTokens?: boolean | undefined;
}

const traceableOptionNames: KeyTable<TraceableOptions> = {
  name: 1,
  runType: 1,
  tags: 1,
  metadata: 1,
  projectName: 1,
  client: 1,
  processInputs: 1,
  processOutputs: 1,
  recordTokens: 1,
};

/** Anything that can be called. */
export type TraceableFunction = (...args: never[]) => unknown;

/**
 * A function that does what `fn` does, and records each call as a run: below the current run, or
 * as a new trace. What `fn` calls and awaits is recorded below. It has the type and properties of
 * `fn`, keeps `this`, and throws and returns what `fn` does; promises, generators and streams are
 * watched to their end. A failure to record never reaches the caller.
 *
 * Inputs: no argument is `{}`, one plain object is itself, one other value is `{ input: value }`,
 * several are `{ args: [...] }`. Outputs: a plain object is itself, another value is
 * `{ outputs: value }`, a stream is `{ outputs: [chunk, ...] }`.
 */
export function traceable<Fn extends TraceableFunction>(
  fn: Fn,
  options: TraceableOptions = {},
): Fn {
  const traced = { isChecked: false };
  return new Proxy(fn, {
    apply: (target, self, args: unknown[]): unknown => {
      const call = (): unknown => Reflect.apply(target, self, args);
      let recording: CallRecording | undefined;
      try {
        recording = begin(fn, { options, args, traced });
      } catch {
        // The stack is exhausted, as wherever it is counted so below: the call goes on unrecorded.
        counted.records += 1;
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
            recording.failed(error);
          } catch {
            counted.records += 1;
          }
          throw error;
        }
        counted.records += 1;
        return call();
      }
      try {
        return watchResult(result, recording);
      } catch {
        counted.records += 1;
        return result;
      }
    },
  });
}

interface Call {
  /** Whether the options were looked at: once, when there is a client to warn. */
  readonly traced: { isChecked: boolean };
  readonly options: TraceableOptions;
  readonly args: readonly unknown[];
}

/** Starts the run of a call; `undefined` where there is no client to record it. */
function begin(fn: TraceableFunction, call: Call): CallRecording | undefined {
  try {
    const { options } = call;
    const client = options.client ?? defaultClient();
    if (client === undefined) {
      return undefined;
    }
    if (!call.traced.isChecked) {
      call.traced.isChecked = true;
      warnOfUnknown(options, traceableOptionNames, client[recorder]);
    }
    const run = startChecked(
      client,
      // Without a name of its own the function has that of its run type.
      new CallRun(options.name ?? fn.name, call, client),
    );
    return new CallRecording(run, options);
  } catch (error) {
    // No client could be created, which is logged there. The call continues unrecorded.
    counted.records += error instanceof RangeError ? 1 : 0;
    return undefined;
  }
}

/** What the run of a call is started with. A class, because its getter then costs nothing. */
class CallRun implements RunOptions {
  readonly name: string;
  readonly runType: RunType | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: KeyValues | undefined;
  readonly projectName: string | undefined;
  readonly #call: Call;
  readonly #client: TracingClient;

  constructor(name: string, call: Call, client: TracingClient) {
    const { runType, tags, metadata, projectName } = call.options;
    this.name = name;
    this.runType = runType;
    this.tags = tags;
    this.metadata = metadata;
    this.projectName = projectName;
    this.#call = call;
    this.#client = client;
  }

  /** Read by the run if it is recorded, and then once. */
  get inputs(): KeyValues {
    const { args, options } = this.#call;
    const inputs = args.length > 1 ? { args } : (toPayload(args[0], "input") ?? {});
    const process = options.processInputs;
    return process === undefined
      ? inputs
      : processPayload(inputs, { process, what: "inputs", client: this.#client });
  }
}
