import { abandonedReaders } from "./body-recording.ts";
import type { BodyBranch } from "./body-recording.ts";
import { createHiddenField } from "./hidden-field.ts";

type ByteStream = ReadableStream<Uint8Array>;
type Reader = ReadableStreamDefaultReader<Uint8Array>;
type ReadResult = Awaited<ReturnType<Reader["read"]>>;

interface ReaderOptions {
  readonly mode?: "byob";
}

/**
 * Observes the stream of a response's body. The stream stays the same object; its readers and iterators are replaced by
 * ones that deliver the same chunks without delay, and record the bytes. Reading through a second stream would cost
 * several times as much for each chunk. It is done only where these readers can't be used: for pipes, `tee`, and
 * readers with their own buffers.
 */
export class ObservedStream {
  /** Whether the stream is read by a method of the response, which records the body itself. */
  isPassive = false;
  readonly #stream: ByteStream;
  readonly #branch: BodyBranch;
  readonly #base: typeof ReadableStream.prototype;
  #copy: ByteStream | undefined;

  constructor(stream: ByteStream, branch: BodyBranch) {
    this.#stream = stream;
    this.#branch = branch;
    this.#base = Object.getPrototypeOf(stream) as typeof ReadableStream.prototype;
    observedField.add(stream, this);
    // A prototype that all streams share costs a tenth of what methods on each stream would cost.
    Object.setPrototypeOf(stream, derivePrototype(this.#base));
  }

  getReader(options?: ReaderOptions): unknown {
    if (!this.#isObserved) {
      return this.#base.getReader.call(this.#stream, options as never);
    }
    return options?.mode === "byob"
      ? this.#openCopy().getReader(options as { readonly mode: "byob" })
      : new ObservedReader(this.#base.getReader.call(this.#stream) as Reader, this.#branch);
  }

  iterate(options?: { readonly preventCancel?: boolean }): AsyncIterableIterator<Uint8Array> {
    // This throws for a locked stream, as the stream's own iterator does.
    const reader = this.#base.getReader.call(this.#stream) as Reader;
    return new ObservedIterator(
      new ObservedReader(reader, this.#branch),
      options?.preventCancel === true,
    );
  }

  cancel(reason?: unknown): Promise<void> {
    if (this.#isObserved) {
      this.#branch.end("cancelled");
    }
    return this.#base.cancel.call(this.#stream, reason);
  }

  /**
   * The stream for methods that read without an {@link ObservedReader}, such as `pipeTo`: a copy that records the
   * bytes, or the stream itself if it is not observed.
   */
  get source(): ByteStream {
    return this.#isObserved ? this.#openCopy() : this.#stream;
  }

  /** Whether reads are recorded. A locked stream refuses further readers, so there is nothing to observe. */
  get #isObserved(): boolean {
    return !this.isPassive && !this.#stream.locked;
  }

  #openCopy(): ByteStream {
    if (this.#copy === undefined) {
      const isBytes = isByteStream(this.#stream, this.#base);
      const reader = this.#base.getReader.call(this.#stream) as Reader;
      this.#copy = createCopy(reader, { branch: this.#branch, isBytes });
    }
    return this.#copy;
  }
}

const observedField = createHiddenField<ObservedStream>();

const findObserved = (stream: ByteStream): ObservedStream => {
  const observed = observedField.get(stream);
  if (observed === undefined) {
    throw new TypeError("The stream is not the body of a recorded response.");
  }
  return observed;
};

/** Prototypes of observed streams, by the original prototype of the stream. */
const prototypes = new WeakMap<object, object>();

function derivePrototype(base: typeof ReadableStream.prototype): object {
  let prototype = prototypes.get(base);
  if (prototype === undefined) {
    prototype = createPrototype(base);
    prototypes.set(base, prototype);
  }
  return prototype;
}

type AnyMethod = (...args: readonly unknown[]) => unknown;

const createPrototype = (base: typeof ReadableStream.prototype): object =>
  Object.create(base, {
    getReader: { value: getReader },
    cancel: { value: cancelStream },
    values: { value: iterate },
    [Symbol.asyncIterator]: { value: iterate },
    ...readFromSource(base, ["pipeThrough", "pipeTo", "tee"]),
  }) as object;

function getReader(this: ByteStream, options?: ReaderOptions): unknown {
  return findObserved(this).getReader(options);
}

function cancelStream(this: ByteStream, reason?: unknown): Promise<void> {
  return findObserved(this).cancel(reason);
}

function iterate(this: ByteStream, options?: { readonly preventCancel?: boolean }): unknown {
  return findObserved(this).iterate(options);
}

/**
 * The built-in methods `pipeThrough`, `pipeTo` and `tee` read a stream without calling its other methods, which may
 * have been replaced. Creates replacements for these three that read the source stream.
 */
const readFromSource = (
  base: typeof ReadableStream.prototype,
  names: readonly ("pipeThrough" | "pipeTo" | "tee")[],
): PropertyDescriptorMap =>
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        value: function method(this: ByteStream, ...args: readonly unknown[]): unknown {
          return Reflect.apply(base[name] as AnyMethod, findObserved(this).source, args);
        },
      },
    ]),
  );

/** State of a reader, separate from the object that the program holds, so that this object can be garbage collected. */
interface ReaderState {
  isReleased: boolean;
}

/**
 * A reader that records the chunks that it delivers. It wraps the stream's own reader instead of extending it, because
 * the stream keeps a reference to its own reader, and this object must be garbage collected.
 */
class ObservedReader {
  readonly #reader: Reader;
  readonly #branch: BodyBranch;
  readonly #state: ReaderState = { isReleased: false };
  /**
   * These callbacks refer to the branch and not to this object, because the stream keeps them while a read is pending.
   */
  readonly #onResult: (result: ReadResult) => void;
  readonly #onFailure: (error: unknown) => void;

  constructor(reader: Reader, branch: BodyBranch) {
    this.#reader = reader;
    this.#branch = branch;
    const state = this.#state;
    this.#onResult = ({ done, value }) => {
      if (done) {
        branch.end("complete");
      } else {
        branch.add(value);
      }
    };
    this.#onFailure = (error) => {
      // The reads of a released reader are rejected too. That is not a failure of the response.
      if (!state.isReleased) {
        branch.end("failed", error);
      }
    };
    branch.isReading = true;
    branch.recording.startReading();
    abandonedReaders.register(this, branch, branch);
    // If the request is aborted, the run ends immediately, even if the program is not reading.
    reader.closed.catch(this.#onFailure);
  }

  get closed(): Promise<unknown> {
    return this.#reader.closed;
  }

  read(): Promise<ReadResult> {
    const result = this.#reader.read();
    void result.then(this.#onResult, this.#onFailure);
    return result;
  }

  /** Reads without recording. The caller passes the result to {@link ObservedReader.record}. */
  readUnrecorded(): Promise<ReadResult> {
    return this.#reader.read();
  }

  record(result: ReadResult): void {
    this.#onResult(result);
  }

  recordFailure(error: unknown): void {
    this.#onFailure(error);
  }

  cancel(reason?: unknown): Promise<void> {
    if (!this.#state.isReleased) {
      this.#branch.end("cancelled");
    }
    return this.#reader.cancel(reason);
  }

  releaseLock(): void {
    this.#state.isReleased = true;
    this.#reader.releaseLock();
    this.#branch.isReading = false;
    abandonedReaders.unregister(this.#branch);
    this.#branch.recording.stopReading();
  }
}

// `instanceof ReadableStreamDefaultReader` must work for the program.
Object.setPrototypeOf(ObservedReader.prototype, ReadableStreamDefaultReader.prototype);

class ObservedIterator implements AsyncIterableIterator<Uint8Array> {
  readonly #reader: ObservedReader;
  readonly #preventCancel: boolean;
  #isDone = false;
  #lastRead: Promise<unknown> | undefined;

  constructor(reader: ObservedReader, preventCancel: boolean) {
    this.#reader = reader;
    this.#preventCancel = preventCancel;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#isDone) {
      return Promise.resolve({ done: true, value: undefined });
    }
    // A single `then` records the result and converts it, because each `then` costs as much as copying the bytes.
    const result = this.#reader.readUnrecorded().then(this.#onResult, this.#onFailure);
    this.#lastRead = result;
    return result;
  }

  async return(value?: unknown): Promise<IteratorResult<Uint8Array, undefined>> {
    const result = { done: true, value: value as undefined } as const;
    try {
      await this.#lastRead;
    } catch {
      // The call of `next` reports why the read failed.
    }
    if (!this.#isDone) {
      this.#isDone = true;
      const cancelled = this.#preventCancel ? undefined : this.#reader.cancel(value);
      this.#reader.releaseLock();
      await cancelled;
    }
    return result;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #onResult = (result: ReadResult): IteratorResult<Uint8Array, undefined> => {
    this.#reader.record(result);
    if (!result.done) {
      return result;
    }
    this.#finish();
    return { done: true, value: undefined };
  };

  readonly #onFailure = (error: unknown): never => {
    this.#reader.recordFailure(error);
    this.#finish();
    throw error;
  };

  #finish(): void {
    if (!this.#isDone) {
      this.#isDone = true;
      this.#reader.releaseLock();
    }
  }
}

async function* generate(): AsyncGenerator<never> {}

// Like the iterators of streams, it inherits the methods of all asynchronous iterators.
Object.setPrototypeOf(
  ObservedIterator.prototype,
  Object.getPrototypeOf(Object.getPrototypeOf(generate.prototype)) as object | null,
);

interface CopyOptions {
  readonly branch: BodyBranch;
  readonly isBytes: boolean;
}

/** Creates a stream that reads from `reader`, but only when it is read itself. */
function createCopy(reader: Reader, { branch, isBytes }: CopyOptions): ByteStream {
  let isWatched = false;
  const read = async (controller: StreamController): Promise<void> => {
    branch.recording.startReading();
    if (!isWatched) {
      isWatched = true;
      watchFailure(reader, branch, controller);
    }
    for (;;) {
      const result: ReadResult = await reader.read();
      if (result.done) {
        branch.end("complete");
        controller.close();
        controller.byobRequest?.respond(0);
        return;
      }
      branch.add(result.value);
      if (!isBytes || result.value.byteLength > 0) {
        controller.enqueue(result.value);
        return;
      }
    }
  };
  const cancel = (reason: unknown): Promise<void> => {
    branch.end("cancelled");
    return reader.cancel(reason);
  };
  const copy = isBytes
    ? new ReadableStream({ type: "bytes", pull: read, cancel }, noReadAhead)
    : new ReadableStream<Uint8Array>({ pull: read, cancel }, noReadAhead);
  branch.isReading = true;
  abandonedReaders.register(copy, branch, branch);
  return copy;
}

/**
 * Ends the stream immediately when the request is aborted, even if the program is not reading. Only a weak reference to
 * the controller is kept: otherwise a response that is still being received would never be garbage collected.
 */
function watchFailure(reader: Reader, branch: BodyBranch, controller: StreamController): void {
  const weakController = new WeakRef(controller);
  reader.closed.catch((error: unknown) => {
    branch.end("failed", error);
    weakController.deref()?.error(error);
  });
}

const noReadAhead = { highWaterMark: 0 };

/** The members that this module uses of both kinds of stream controllers. */
interface StreamController {
  readonly byobRequest?: { respond(bytesWritten: number): void } | null | undefined;
  enqueue(chunk: Uint8Array): void;
  close(): void;
  error(error: unknown): void;
}

/**
 * Whether a stream supports readers with their own buffers, as the streams of responses do. Call this before the stream
 * is locked.
 */
function isByteStream(stream: ByteStream, base: typeof ReadableStream.prototype): boolean {
  try {
    base.getReader.call(stream, { mode: "byob" } as never).releaseLock();
    return true;
  } catch {
    return false;
  }
}
