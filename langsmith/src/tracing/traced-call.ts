import { AsyncLocalStorage } from "node:async_hooks";
import { warnOnce } from "../environment.ts";
import type { KVMap } from "../schemas.ts";
import { replaceMembers } from "./deferred-arguments.ts";
import {
  callHook,
  isAsyncIterable,
  isIterator,
  isReadableStream,
  isThenable,
  toOutputs,
} from "./payloads.ts";
import type { PayloadHook } from "./payloads.ts";
import type { RunTree } from "./run-tree.ts";

/**
 * The key of a list of promises. The end of a run is recorded once they have settled. LangChain adds promises to the
 * same list.
 */
const endPromisesKey = Symbol.for("lc:child_run_end_promises");

/** Settings for recording the run of one call. */
export interface CallSettings {
  readonly run: RunTree | undefined;
  readonly aggregator: ((chunks: unknown[]) => unknown) | undefined;
  readonly processOutputs: PayloadHook["convert"];
  readonly onEnd: ((run: RunTree) => void) | undefined;
  /** Sets the inputs if they are complete only at the end. It is absent if they were recorded at the start. */
  readonly fillInputs: (() => void) | undefined;
  /** The key of a stream in the returned object. If the object has one, the run ends when the stream ends. */
  readonly streamKey: string | undefined;
  /** Whether the function is a generator. Its values are then collected. */
  readonly isGenerator: boolean;
}

/** One call of a traced function. This class observes the returned value and records the end of the run. */
export class TracedCall {
  readonly #settings: CallSettings;
  readonly #posted: Promise<void> | undefined;
  readonly #removeFromParent: (() => void) | undefined;

  constructor(settings: CallSettings) {
    this.#settings = settings;
    this.#removeFromParent = delayParentEnd(settings.run);
    this.#posted = settings.fillInputs === undefined ? settings.run?.postRun() : undefined;
  }

  /**
   * Calls the function. As in langsmith, the result is a promise, or an async iterable if the function itself returns
   * one. If the function returns a promise with further members, the result has these members, too.
   */
  call(fn: () => unknown): unknown {
    let returned: unknown;
    try {
      returned = fn();
    } catch (error) {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what the function threw
      returned = Promise.reject(error);
    }
    if (isAsyncIterable(returned)) {
      return this.#observeStream(returned);
    }
    if (this.#hasStream(returned)) {
      return this.#observeMember(returned);
    }
    const traced = this.#observePromise(returned);
    if (typeof returned !== "object" || returned === null) {
      return traced;
    }
    return replaceMembers(returned, {
      // oxlint-disable-next-line unicorn/no-thenable -- it takes the place of a promise
      then: traced.then.bind(traced),
      catch: traced.catch.bind(traced),
      finally: traced.finally.bind(traced),
    });
  }

  async #observePromise(returned: unknown): Promise<unknown> {
    let value: unknown;
    try {
      value = await returned;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    if (isAsyncIterable(value)) {
      return this.#observeStream(value);
    }
    if (this.#hasStream(value)) {
      return this.#observeMember(value);
    }
    if (this.#settings.isGenerator && isIterator(value)) {
      return this.#collect(value);
    }
    this.#end(value);
    return value;
  }

  #hasStream(value: unknown): value is object {
    const { streamKey } = this.#settings;
    return (
      streamKey !== undefined &&
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      isAsyncIterable(Reflect.get(value, streamKey))
    );
  }

  #observeMember(value: object): object {
    const key = String(this.#settings.streamKey);
    const stream = Reflect.get(value, key) as AsyncIterable<unknown>;
    return { ...value, [key]: this.#observeStream(stream) };
  }

  /** Reads a generator to its end, and returns a new generator with the same values. */
  #collect(iterator: Iterator<unknown>): Iterator<unknown> {
    const values: unknown[] = [];
    let next = iterator.next();
    for (; next.done !== true; next = iterator.next()) {
      values.push(next.value);
    }
    const returned: unknown = next.value;
    this.#endWithChunks(returned === undefined ? values : [...values, returned]);
    return (function* () {
      yield* values;
      return returned;
    })();
  }

  #observeStream(stream: AsyncIterable<unknown>): AsyncIterable<unknown> {
    const inContext = AsyncLocalStorage.snapshot();
    if (isReadableStream(stream)) {
      return this.#observeReadableStream(stream, inContext);
    }
    let iterator: AsyncGenerator | undefined;
    const start = (): AsyncGenerator => {
      iterator ??= this.#iterate(stream[Symbol.asyncIterator](), inContext);
      return iterator;
    };
    return replaceMembers(stream, {
      [Symbol.asyncIterator]: start,
      ...(isIterator(stream)
        ? {
            next: () => start().next(),
            return: (value: unknown) => start().return(value),
            throw: (error: unknown) => start().throw(error),
          }
        : {}),
    });
  }

  async *#iterate(
    iterator: AsyncIterator<unknown>,
    inContext: <Result>(fn: () => Result) => Result,
  ): AsyncGenerator {
    const chunks: unknown[] = [];
    let isDone = false;
    try {
      while (true) {
        const next = await inContext(() => iterator.next());
        if (next.done === true) {
          isDone = true;
          break;
        }
        this.#addChunk(chunks, next.value);
        yield next.value;
      }
    } catch (error) {
      isDone = true;
      this.#setError(String(error));
      throw error;
    } finally {
      if (!isDone) {
        this.#setError("Cancelled");
        await iterator.return?.();
      }
      this.#endWithChunks(chunks);
    }
  }

  #observeReadableStream(
    stream: ReadableStream<unknown>,
    inContext: <Result>(fn: () => Result) => Result,
  ): ReadableStream<unknown> {
    const reader = stream.getReader();
    const chunks: unknown[] = [];
    return new ReadableStream<unknown>({
      pull: async (controller) => {
        try {
          const { done, value } = await inContext(() => reader.read());
          if (done) {
            this.#endWithChunks(chunks);
            controller.close();
            return;
          }
          this.#addChunk(chunks, value);
          controller.enqueue(value);
        } catch (error) {
          this.#setError(String(error));
          this.#endWithChunks(chunks);
          controller.error(error);
        }
      },
      cancel: (reason) => {
        this.#setError("Cancelled");
        this.#endWithChunks(chunks);
        return reader.cancel(reason);
      },
    });
  }

  #addChunk(chunks: unknown[], chunk: unknown): void {
    const { run } = this.#settings;
    chunks.push(chunk);
    if (run?.run_type === "llm") {
      run.addEvent({ name: "new_token", kwargs: { token: chunk } });
    }
  }

  #setError(error: string): void {
    void this.#settings.run?.end(undefined, error);
  }

  #fail(error: unknown): void {
    this.#setError(describeError(error));
    void this.#finish(false);
  }

  #endWithChunks(chunks: unknown[]): void {
    const { aggregator } = this.#settings;
    if (aggregator === undefined) {
      this.#end(chunks);
      return;
    }
    const handleFailure = (verb: string, error: unknown): void => {
      warnOnce(`The aggregator ${verb} (${describeError(error)}), so the chunks are recorded.`);
      this.#end(chunks);
    };
    let aggregated: unknown;
    try {
      aggregated = aggregator(chunks);
    } catch (error) {
      handleFailure("threw", error);
      return;
    }
    if (isThenable(aggregated)) {
      void Promise.resolve(aggregated).then(
        (value) => this.#end(value),
        (error: unknown) => handleFailure("rejected", error),
      );
      return;
    }
    this.#end(aggregated);
  }

  #end(value: unknown): void {
    const { run, processOutputs } = this.#settings;
    if (run === undefined) {
      this.#removeFromParent?.();
      return;
    }
    try {
      const outputs = callHook(toOutputs(value), {
        name: "processOutputs",
        convert: processOutputs,
      });
      if (isThenable(outputs)) {
        void outputs.then((settled) => this.#endWith(settled as KVMap));
      } else {
        this.#endWith(outputs);
      }
    } catch (error) {
      // The value could not be read, for example because it is a proxy that throws.
      this.#endWith({ outputs: `[unreadable: ${describeError(error)}]` });
    }
  }

  #endWith(outputs: KVMap): void {
    const { run } = this.#settings;
    if (run !== undefined) {
      addUsage(run, outputs);
      // As in langsmith, the result replaces outputs that the program has set.
      run.outputs = outputs;
      void run.end(outputs);
    }
    void this.#finish(true);
  }

  /** Records the end of the run after the ends of children that are still running. */
  async #finish(waitsForChildren: boolean): Promise<void> {
    const { run, onEnd, fillInputs } = this.#settings;
    try {
      const endPromises = run === undefined ? [] : readEndPromises(run);
      if (waitsForChildren && endPromises.length > 0) {
        await Promise.all(endPromises);
      }
      if (run !== undefined) {
        callSafely(onEnd, run);
      }
      await this.#posted;
      if (fillInputs === undefined) {
        await run?.patchRun({ excludeInputs: true });
      } else {
        fillInputs();
        await run?.postRun();
      }
    } catch (error) {
      warnOnce(`The end of a run was not recorded: ${describeError(error)}`);
    } finally {
      this.#removeFromParent?.();
    }
  }
}

/** Makes the parent run wait for this run before its own end is recorded. Returns a function that ends the wait. */
function delayParentEnd(run: RunTree | undefined): (() => void) | undefined {
  const parent = run?.parent_run;
  if (parent === undefined) {
    return undefined;
  }
  const promises = readEndPromises(parent);
  let release: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    release = resolve;
  });
  if (promises.length === 0) {
    Reflect.set(parent, endPromisesKey, promises);
  }
  promises.push(ended);
  return () => {
    // The promise is removed, so that memory does not grow with the number of children that have ended.
    const index = promises.indexOf(ended);
    if (index !== -1) {
      promises.splice(index, 1);
    }
    release?.();
  };
}

function readEndPromises(run: RunTree): unknown[] {
  const promises: unknown = Reflect.get(run, endPromisesKey);
  return Array.isArray(promises) ? promises : [];
}

/** Copies a model's usage to the metadata, where the server reads it, and to the outputs. */
function addUsage(run: RunTree, outputs: KVMap): void {
  const usage: unknown = outputs["usage_metadata"] ?? run.metadata?.["usage_metadata"];
  if (usage !== undefined) {
    run.metadata = { usage_metadata: usage };
    outputs["usage_metadata"] = usage;
  }
}

function callSafely<Argument>(fn: ((argument: Argument) => void) | undefined, argument: Argument) {
  try {
    fn?.(argument);
  } catch (error) {
    warnOnce(`on_end threw: ${describeError(error)}`);
  }
}

function describeError(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "an error that can't be read";
  }
}
