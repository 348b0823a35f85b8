import type { KeyValues } from "../../model/run.ts";
import { isPlainObject, toPayload } from "../tape/payload.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { RunTree } from "./run-tree.ts";
import { uncountedLosses } from "../queue/ledger.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/**
 * Converts a payload into the payload that may be recorded, for example without secrets. It is called once for each
 * payload. It must be synchronous and must not modify its argument.
 */
export type ProcessPayload = (payload: KeyValues) => KeyValues;

/**
 * Converts the chunks of a stream, in their order, into the outputs to record. It is declared as a method, because
 * TypeScript lets the parameters of a method be narrower: a function may then declare the type of its chunks.
 */
export type AggregateChunks = {
  aggregate(chunks: readonly unknown[]): unknown;
}["aggregate"];

/** Maximum number of chunks recorded for one stream, so that an endless stream can't exhaust memory. */
const chunkLimit = 10_000;
/** Maximum size of the chunks recorded for one stream: UTF-16 units of strings plus bytes of binary chunks. */
const streamSizeLimit = 16_777_216;

/** Metadata key that is set on a run if the consumer stopped reading its stream before the end. */
const cancelledKey = "millrace_cancelled";
/** Metadata key for the total number of chunks, which is recorded if a stream exceeded the limits above. */
const chunkCountKey = "millrace_chunks";

/** Options for recording the outcome of a call. */
export interface RecordingOptions {
  readonly processOutputs?: ProcessPayload | undefined;
  readonly aggregator?: AggregateChunks | undefined;
  readonly recordTokens?: boolean | undefined;
}

/**
 * Records the outcome of one call of a traced function. States: open, then settled by the first call of `recordReturn`,
 * `recordFailure`, `recordStreamEnd` or `recordCancellation`; later calls have no effect. No method throws.
 */
export class CallRecording {
  readonly run: RunTree;
  readonly #options: RecordingOptions;
  #chunks: unknown[] | undefined;
  #chunkCount = 0;
  #streamSize = 0;
  #isSettled = false;

  constructor(run: RunTree, options: RecordingOptions) {
    this.run = run;
    this.#options = options;
  }

  /** Call this when the traced function returned a value that is not a stream. */
  recordReturn(value: unknown): void {
    this.#settle(() => {
      this.run.end(this.#process(toPayload(value, "outputs")));
    });
  }

  /** Call this when the traced function threw, its promise was rejected, or its stream failed. */
  recordFailure(error: unknown): void {
    this.#settle(() => {
      this.run.fail(error, this.#chunks === undefined ? undefined : this.#collectOutputs());
    });
  }

  /** Call this for each chunk of the returned stream. */
  recordChunk(value: unknown): void {
    if (this.#isSettled || !this.run.sampled) {
      return;
    }
    this.#chunkCount += 1;
    this.#streamSize += estimateSize(value);
    if (this.#chunkCount > chunkLimit || this.#streamSize > streamSizeLimit) {
      return;
    }
    (this.#chunks ??= []).push(value);
    if (this.#options.recordTokens === true) {
      // With `processOutputs` or `hideOutputs` the event must not carry the raw token: the token could contain what
      // these options remove from the outputs.
      const isWithheld =
        this.#options.processOutputs !== undefined ||
        this.run.client[recorder].filtersOutputs === true;
      const eventArguments = isWithheld ? {} : { token: value };
      this.run.addEvent({ name: "new_token", kwargs: eventArguments });
    }
  }

  /** Call this when the stream ended. `result` is the return value of a generator. */
  recordStreamEnd(result?: unknown): void {
    this.#settle(() => {
      this.run.end(this.#collectOutputs(result));
    });
  }

  /** Call this when the consumer stopped reading the stream before its end. */
  recordCancellation(): void {
    this.#settle(() => {
      this.run.addMetadata({ [cancelledKey]: true });
      this.run.end(this.#collectOutputs());
    });
  }

  #collectOutputs(result?: unknown): KeyValues | undefined {
    const chunks = this.#chunks ?? [];
    if (this.#chunkCount > chunks.length) {
      this.run.addMetadata({ [chunkCountKey]: this.#chunkCount });
    }
    const outputs = this.#aggregate(chunks) ?? { outputs: chunks };
    return this.#process(result === undefined ? outputs : { ...outputs, returned: result });
  }

  /** Returns `undefined` if there is no aggregator, or it failed. */
  #aggregate(chunks: readonly unknown[]): KeyValues | undefined {
    const { aggregator } = this.#options;
    if (aggregator === undefined || !this.run.sampled) {
      return undefined;
    }
    let problem = "returned nothing";
    try {
      // Pass a copy: if the aggregator fails, the chunks themselves are recorded, and it may have changed its argument.
      const value: unknown = aggregator([...chunks]);
      if (!(value instanceof Promise)) {
        const outputs = toPayload(value, "outputs");
        if (outputs !== undefined) {
          return outputs;
        }
      } else {
        problem = "returned a promise";
        // The failure is counted below. Without a handler, a rejection of the promise would end the process.
        value.catch(() => {});
      }
    } catch {
      // The error's message is not logged, because it may contain parts of the chunks.
      problem = "threw";
    }
    this.run.client[recorder].warn(
      "hiddenFailure",
      `aggregator ${problem}; the chunks of the stream were recorded instead.`,
    );
    return undefined;
  }

  #process(payload: KeyValues | undefined): KeyValues | undefined {
    const { processOutputs } = this.#options;
    return payload === undefined || processOutputs === undefined || !this.run.sampled
      ? payload
      : processPayload(payload, {
          process: processOutputs,
          payloadName: "outputs",
          client: this.run.client,
        });
  }

  #settle(record: () => void): void {
    if (this.#isSettled) {
      return;
    }
    this.#isSettled = true;
    try {
      record();
    } catch (error) {
      // The payload can't be read, or the traced function returned when the stack was exhausted.
      localUncountedLosses.records += 1;
      if (!(error instanceof RangeError)) {
        this.run.client[recorder].warn("hiddenFailure", "The end of a run could not be recorded.");
      }
    }
    this.#chunks = undefined;
  }
}

/** Estimates a chunk's size. An object counts as 1, because measuring it would take too long. */
function estimateSize(chunk: unknown): number {
  if (typeof chunk === "string") {
    return chunk.length;
  }
  return ArrayBuffer.isView(chunk) ? chunk.byteLength : 1;
}

/** The caller's function that converts a payload, and the data for a warning if that function fails. */
interface Processing {
  readonly process: ProcessPayload;
  readonly payloadName: "inputs" | "outputs";
  readonly client: TracingClient;
}

/** Applies the caller's function. If it fails, the payload is dropped: unprocessed payloads are never sent. */
export function processPayload(
  payload: KeyValues,
  { process, payloadName, client }: Processing,
): KeyValues {
  const option = payloadName === "inputs" ? "processInputs" : "processOutputs";
  let problem = "did not return an object";
  try {
    const processedPayload: unknown = process(payload);
    if (isPlainObject(processedPayload)) {
      return processedPayload;
    }
    if (processedPayload instanceof Promise) {
      problem = "returned a promise";
      // The failure is counted below. Without a handler, a rejection of the promise would end the process.
      processedPayload.catch(() => {});
    }
  } catch {
    // The error's message is not logged, because it may contain what the function should hide.
    problem = "threw";
  }
  client[recorder].warn(
    "hiddenFailure",
    `${option} ${problem}; the run's ${payloadName} were dropped.`,
  );
  return { millrace_error: `${option} failed; ${payloadName} dropped` };
}
