import type { KeyValues } from "../../model/run.ts";
import { isPlainObject, toPayload } from "../tape/payload.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { RunTree } from "./run-tree.ts";
import { uncounted } from "../queue/stack-room.ts";

/** A binding of this module's own: in a bundle an import may be a getter, for which there is no stack. */
const counted = uncounted;

/**
 * Turns a payload into what may be recorded. Called once per payload, must return at once, and
 * must not change what it is given.
 */
export type ProcessPayload = (payload: KeyValues) => KeyValues;

/** Chunks of one stream that are recorded; a stream that never ends must not fill the memory. */
const chunkLimit = 10_000;
/** Text and bytes of one stream that are recorded, in UTF-16 units and bytes. */
const streamLimit = 16_777_216;

/** Metadata of a run whose stream was left before its end. */
const cancelledKey = "millrace_cancelled";
/** Metadata of a run whose stream went on beyond what is recorded: how many chunks it had. */
const chunkCountKey = "millrace_chunks";

/** How the outcome of a call is recorded. */
export interface RecordingOptions {
  readonly processOutputs?: ProcessPayload | undefined;
  readonly recordTokens?: boolean | undefined;
}

/**
 * Records how one call of a traced function goes on after it was entered. States: open, then
 * settled by the first of `returned`, `failed`, `finished` and `cancelled`. No method throws.
 */
export class CallRecording {
  readonly run: RunTree;
  readonly #options: RecordingOptions;
  #chunks: unknown[] | undefined;
  #chunkCount = 0;
  #size = 0;
  #settled = false;

  constructor(run: RunTree, options: RecordingOptions) {
    this.run = run;
    this.#options = options;
  }

  /** The call answered with a value that is no stream. */
  returned(value: unknown): void {
    this.#settle(() => {
      this.run.end(this.#process(toPayload(value, "outputs")));
    });
  }

  /** The call threw, or its promise was rejected, or its stream failed. */
  failed(error: unknown): void {
    this.#settle(() => {
      this.run.fail(error, this.#chunks === undefined ? undefined : this.#collected());
    });
  }

  /** The call's stream gave a chunk. */
  chunk(value: unknown): void {
    if (this.#settled || !this.run.sampled) {
      return;
    }
    this.#chunkCount += 1;
    this.#size += sizeOf(value);
    if (this.#chunkCount > chunkLimit || this.#size > streamLimit) {
      return;
    }
    (this.#chunks ??= []).push(value);
    if (this.#options.recordTokens === true) {
      // Where outputs are processed, a token must not go out raw in an event beside them.
      const token = this.#options.processOutputs === undefined ? { token: value } : {};
      this.run.addEvent({ name: "new_token", kwargs: token });
    }
  }

  /** The call's stream came to its end; a generator may have returned something besides. */
  finished(result?: unknown): void {
    this.#settle(() => {
      this.run.end(this.#collected(result));
    });
  }

  /** The call's stream was left before its end. */
  cancelled(): void {
    this.#settle(() => {
      this.run.addMetadata({ [cancelledKey]: true });
      this.run.end(this.#collected());
    });
  }

  #collected(result?: unknown): KeyValues | undefined {
    const outputs = this.#chunks ?? [];
    if (this.#chunkCount > outputs.length) {
      this.run.addMetadata({ [chunkCountKey]: this.#chunkCount });
    }
    return this.#process(result === undefined ? { outputs } : { outputs, returned: result });
  }

  #process(payload: KeyValues | undefined): KeyValues | undefined {
    const { processOutputs } = this.#options;
    return payload === undefined || processOutputs === undefined || !this.run.sampled
      ? payload
      : processPayload(payload, {
          process: processOutputs,
          what: "outputs",
          client: this.run.client,
        });
  }

  #settle(record: () => void): void {
    if (this.#settled) {
      return;
    }
    this.#settled = true;
    try {
      record();
    } catch (error) {
      counted.records += 1;
      if (!(error instanceof RangeError)) {
        this.run.client[recorder].warn("hiddenFailure", "The end of a run could not be recorded.");
      }
    }
    this.#chunks = undefined;
  }
}

/** Of what makes a chunk large; of an object it is not worth the walk. */
function sizeOf(chunk: unknown): number {
  if (typeof chunk === "string") {
    return chunk.length;
  }
  return ArrayBuffer.isView(chunk) ? chunk.byteLength : 1;
}

interface Processing {
  readonly process: ProcessPayload;
  readonly what: "inputs" | "outputs";
  readonly client: TracingClient;
}

/** Applies a caller's function; fails closed: what it could not process is never sent raw. */
export function processPayload(
  payload: KeyValues,
  { process, what, client }: Processing,
): KeyValues {
  const option = what === "inputs" ? "processInputs" : "processOutputs";
  let problem = "returned no object";
  try {
    const processed: unknown = process(payload);
    if (isPlainObject(processed)) {
      return processed;
    }
    if (processed instanceof Promise) {
      problem = "returned a promise";
      // Its rejection is this failure, which is counted below, and must not end the process.
      processed.catch(() => {});
    }
  } catch {
    // The message of the error may hold what was to be hidden; it is not repeated.
    problem = "threw";
  }
  client[recorder].warn("hiddenFailure", `${option} ${problem}; the run's ${what} were dropped.`);
  return { millrace_error: `${option} failed; ${what} dropped` };
}
