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
 * The stream of a response's body, which stays the same object. Its readers and iterators are observed: they deliver what
 * they deliver otherwise, at once, and the bytes are recorded. Another stream between them would cost several times as much
 * for each chunk. Only where no reader of ours is involved (pipes, `tee`, and readers with buffers of their own) a copy of
 * the stream reads the stream.
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
    // One object for all streams costs a tenth of what own members of each would.
    Object.setPrototypeOf(stream, prototypeAbove(this.#base));
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
    // A stream that is locked throws here, as its own iterator does.
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

  /** The stream to which a method is applied that reads the stream without a reader of ours. */
  get source(): ByteStream {
    return this.#isObserved ? this.#openCopy() : this.#stream;
  }

  /** A stream that is locked refuses its methods, so there is nothing to observe. */
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

const observedOf = (stream: ByteStream): ObservedStream => {
  const observed = observedField.get(stream);
  if (observed === undefined) {
    throw new TypeError("The stream is not that of a response.");
  }
  return observed;
};

/** The prototypes of observed streams, by the prototype that the streams have otherwise. */
const prototypes = new WeakMap<object, object>();

function prototypeAbove(base: typeof ReadableStream.prototype): object {
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
  return observedOf(this).getReader(options);
}

function cancelStream(this: ByteStream, reason?: unknown): Promise<void> {
  return observedOf(this).cancel(reason);
}

function iterate(this: ByteStream, options?: { readonly preventCancel?: boolean }): unknown {
  return observedOf(this).iterate(options);
}

/** Methods that read a stream without calling its other methods. */
const readFromSource = (
  base: typeof ReadableStream.prototype,
  names: readonly ("pipeThrough" | "pipeTo" | "tee")[],
): PropertyDescriptorMap =>
  Object.fromEntries(
    names.map((name) => [
      name,
      {
        value: function method(this: ByteStream, ...args: readonly unknown[]): unknown {
          return Reflect.apply(base[name] as AnyMethod, observedOf(this).source, args);
        },
      },
    ]),
  );

/** What is known of a reader, apart from the object that the program has, so that this object can be garbage collected. */
interface ReaderState {
  isReleased: boolean;
}

/** A reader that records what it delivers. It is an object beside the stream's own reader, which the stream would keep. */
class ObservedReader {
  readonly #reader: Reader;
  readonly #branch: BodyBranch;
  readonly #state: ReaderState = { isReleased: false };
  /** These hold the branch, and not this object: the stream keeps them while a read waits. */
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
      // A reader that was released refuses its reads, too.
      if (!state.isReleased) {
        branch.end("failed", error);
      }
    };
    branch.isReading = true;
    branch.recording.startReading();
    abandonedReaders.register(this, branch, branch);
    // A request that is aborted ends the run at once, also while the program does not read.
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

  /** Reads without recording. The caller passes on to {@link ObservedReader.record} what it gets. */
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

// The program may ask what the object is.
Object.setPrototypeOf(ObservedReader.prototype, ReadableStreamDefaultReader.prototype);

/** The iterator of an observed stream. */
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
    // One reaction for both purposes: each costs as much as copying the bytes.
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

// As the iterators of streams, it inherits what Node gives to all asynchronous iterators.
Object.setPrototypeOf(
  ObservedIterator.prototype,
  Object.getPrototypeOf(Object.getPrototypeOf(generate.prototype)) as object | null,
);

interface CopyOptions {
  readonly branch: BodyBranch;
  readonly isBytes: boolean;
}

/** Creates a stream that reads another when it is read itself, and no further. */
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
 * Ends the stream at once when the request is aborted, also while the program does not read. The controller is not held: a
 * response that is being received would otherwise never be garbage collected.
 */
function watchFailure(reader: Reader, branch: BodyBranch, controller: StreamController): void {
  const held = new WeakRef(controller);
  reader.closed.catch((error: unknown) => {
    branch.end("failed", error);
    held.deref()?.error(error);
  });
}

const noReadAhead = { highWaterMark: 0 };

/** The members of the two kinds of controllers that are used. */
interface StreamController {
  readonly byobRequest?: { respond(bytesWritten: number): void } | null | undefined;
  enqueue(chunk: Uint8Array): void;
  close(): void;
  error(error: unknown): void;
}

/** Whether a stream has readers with buffers of their own, as those of responses do. Call this before it is locked. */
function isByteStream(stream: ByteStream, base: typeof ReadableStream.prototype): boolean {
  try {
    base.getReader.call(stream, { mode: "byob" } as never).releaseLock();
    return true;
  } catch {
    return false;
  }
}
