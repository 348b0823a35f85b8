import { Readable } from "node:stream";
import type { ExchangeRun } from "../../main/index.ts";

/**
 * Records the body of a response while the program reads it. Each clone of the response is a branch that delivers the same
 * bytes: they are recorded once, from the branch that is ahead.
 */
class BodyRecording {
  readonly #exchange: ExchangeRun;
  /** The attempt that got the response. A library may have sent the request again since. */
  readonly #attempt: number;
  #openBranches = 0;
  #recordedBytes = 0;
  #isEnded = false;

  constructor(exchange: ExchangeRun) {
    this.#exchange = exchange;
    this.#attempt = exchange.attempt;
  }

  openBranch(): BodyBranch {
    this.#openBranches += 1;
    return new BodyBranch(this);
  }

  get #isCurrent(): boolean {
    return this.#exchange.attempt === this.#attempt;
  }

  startReading(): void {
    if (this.#isCurrent) {
      this.#exchange.startReading();
    }
  }

  /** Records the bytes of a chunk, which begins at `offset` in the body, that no branch has delivered before. */
  add(chunk: unknown, offset: number): number {
    if (!this.#isCurrent) {
      return offset;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) {
      this.#exchange.addWarning(
        "The response has chunks that are not bytes; they were not recorded",
      );
      return offset;
    }
    const end = offset + bytes.length;
    if (end > this.#recordedBytes) {
      const known = this.#recordedBytes - offset;
      this.#exchange.addChunk(known > 0 ? bytes.subarray(known) : bytes);
      this.#recordedBytes = end;
    }
    return end;
  }

  addWarning(text: string): void {
    if (this.#isCurrent) {
      this.#exchange.addWarning(text);
    }
  }

  /** Ends the run. A branch that was not read to its end ends the run only if it is the last. */
  endBranch(ending: "complete" | "cancelled" | "failed", error?: unknown): void {
    this.#openBranches -= 1;
    if (!this.#isEnded && (ending === "complete" || this.#openBranches === 0)) {
      this.#isEnded = true;
      if (this.#isCurrent) {
        this.#exchange.end(error === undefined ? { ending } : { ending, error });
      }
    }
  }
}

/** One reading of a body: that of the response, or of a clone. Ended once; later calls have no effect. */
class BodyBranch {
  readonly recording: BodyRecording;
  #offset = 0;
  #isEnded = false;

  constructor(recording: BodyRecording) {
    this.recording = recording;
  }

  add(chunk: unknown): void {
    this.#offset = this.recording.add(chunk, this.#offset);
  }

  end(ending: "complete" | "cancelled" | "failed", error?: unknown): void {
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.recording.endBranch(ending, error);
    }
  }

  /** Call this when the program can't read the body any more, because it released it. */
  abandon(): void {
    if (!this.#isEnded) {
      this.recording.addWarning("The response was not read to its end");
      this.end("cancelled");
    }
  }
}

/** Ends runs whose responses were garbage collected before they were read to their end. */
const released = new FinalizationRegistry<BodyBranch>((branch) => branch.abandon());

/**
 * Records the body of a response while the program reads it. The response stays the same object, and only the members that
 * read the body are replaced, for this object. Bytes reach the program as they arrive: nothing is read ahead or held back.
 */
export function recordResponseBody(response: Response, exchange: ExchangeRun): void {
  observe(response, new BodyRecording(exchange).openBranch());
}

function observe(response: Response, branch: BodyBranch): void {
  if (response.body === null) {
    branch.end("complete");
    return;
  }
  if (!isObservable(response)) {
    branch.recording.addWarning(
      "The response is not one of the Fetch standard; its body was not recorded",
    );
    branch.end("complete");
    return;
  }
  const body = new ObservedBody(response, branch);
  Object.defineProperties(response, {
    body: { get: () => body.stream, configurable: true },
    bodyUsed: { get: () => body.isUsed, configurable: true },
    ...toMethods({
      clone: () => body.clone(),
      arrayBuffer: () => body.readAll(),
      text: async () => decodeText(await body.readAll()),
      json: async (): Promise<unknown> => JSON.parse(decodeText(await body.readAll())),
      blob: () => body.readBlob(),
      formData: () => body.readForm(),
    }),
    ...("bytes" in response
      ? toMethods({ bytes: async () => new Uint8Array(await body.readAll()) })
      : {}),
  });
  released.register(response, branch, branch);
}

/** Whether a response has a body that can be observed. A program's own `fetch` may return anything. */
const isObservable = (response: Response): boolean =>
  response.body instanceof ReadableStream &&
  !response.body.locked &&
  typeof response.arrayBuffer === "function" &&
  Object.isExtensible(response) &&
  Object.getOwnPropertyDescriptor(response, "body") === undefined;

const toMethods = (methods: Readonly<Record<string, () => unknown>>): PropertyDescriptorMap =>
  Object.fromEntries(
    Object.entries(methods).map(([name, value]) => [
      name,
      { value, configurable: true, writable: true },
    ]),
  );

/** As the Fetch standard decodes a body: without a byte order mark, and with replacements for what is not UTF-8. */
const decodeText = (bytes: ArrayBuffer): string => new TextDecoder().decode(bytes);

/** The methods of a response that read its body, with their results. */
interface Methods {
  readonly arrayBuffer: Promise<ArrayBuffer>;
  readonly blob: Promise<Blob>;
  readonly formData: Promise<FormData>;
  readonly clone: Response;
}

/** The members of a response that its class defines, called with the response itself. */
class NativeMembers {
  readonly #response: Response;
  readonly #prototype: object;

  constructor(response: Response) {
    this.#response = response;
    this.#prototype = Object.getPrototypeOf(response) as object;
  }

  get<Name extends keyof Response>(name: Name): Response[Name] {
    return Reflect.get(this.#prototype, name, this.#response) as Response[Name];
  }

  /** Calls a method that has no parameters. */
  call<Name extends keyof Methods>(name: Name): Methods[Name] {
    const method = Reflect.get(this.#prototype, name, this.#response) as () => Methods[Name];
    return Reflect.apply(method, this.#response, []);
  }
}

/** The body of a response that is observed. Its stream is created when the program asks for it. */
class ObservedBody {
  readonly #native: NativeMembers;
  readonly #branch: BodyBranch;
  #stream: ReadableStream<Uint8Array> | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(response: Response, branch: BodyBranch) {
    this.#native = new NativeMembers(response);
    this.#branch = branch;
  }

  get isUsed(): boolean {
    return (
      this.#native.get("bodyUsed") || (this.#stream !== undefined && isDisturbed(this.#stream))
    );
  }

  get stream(): ReadableStream<Uint8Array> | null {
    if (this.#stream === undefined) {
      const native = this.#native.get("body");
      if (native === null || native.locked) {
        // The body was read as a whole. Its own stream shows that.
        return native;
      }
      this.#stream = this.#createStream(isByteStream(native));
      // The program may use the stream after it released the response.
      released.unregister(this.#branch);
      released.register(this.#stream, this.#branch, this.#branch);
    }
    return this.#stream;
  }

  clone(): Response {
    this.#lockIfStreamIsInUse();
    const copy = this.#native.call("clone");
    observe(copy, this.#branch.recording.openBranch());
    return copy;
  }

  async readAll(): Promise<ArrayBuffer> {
    const bytes = await this.#consume(() => this.#native.call("arrayBuffer"));
    this.#branch.add(new Uint8Array(bytes));
    this.#branch.end("complete");
    return bytes;
  }

  async readBlob(): Promise<Blob> {
    const blob = await this.#consume(() => this.#native.call("blob"));
    void this.#recordBlob(blob);
    return blob;
  }

  async readForm(): Promise<FormData> {
    const form = await this.#consume(() => this.#native.call("formData"));
    this.#branch.recording.addWarning("The response was read as a form; it was not recorded");
    this.#branch.end("complete");
    return form;
  }

  async #recordBlob(blob: Blob): Promise<void> {
    try {
      this.#branch.add(new Uint8Array(await blob.arrayBuffer()));
    } catch {
      this.#branch.recording.addWarning("The response could not be read from a Blob");
    }
    this.#branch.end("complete");
  }

  /** Reads the whole body with a method of the response. A body that is in use rejects, which does not end the run. */
  async #consume<Result>(read: () => Promise<Result>): Promise<Result> {
    this.#lockIfStreamIsInUse();
    if (this.isUsed || this.#native.get("body")?.locked === true) {
      return await read();
    }
    this.#branch.recording.startReading();
    // From now on the stream that the program may have is in use, as the response's own is.
    this.#stream?.getReader();
    try {
      return await read();
    } catch (error) {
      this.#branch.end("failed", error);
      throw error;
    }
  }

  /** Makes the response's own methods reject as they must while the program has a reader of the stream. */
  #lockIfStreamIsInUse(): void {
    const stream = this.#stream;
    if (stream !== undefined && (stream.locked || isDisturbed(stream))) {
      const native = this.#native.get("body");
      this.#reader ??= native?.locked === false ? native.getReader() : undefined;
    }
  }

  /**
   * Creates a stream that reads the response's own stream when it is read itself, and no further. The own stream may be
   * another one by then, because the response was cloned.
   */
  #createStream(isBytes: boolean): ReadableStream<Uint8Array> {
    let isWatched = false;
    const read = async (controller: StreamController): Promise<void> => {
      this.#branch.recording.startReading();
      const reader = (this.#reader ??= this.#native.get("body")?.getReader());
      if (!isWatched) {
        isWatched = true;
        watchFailure(reader, this.#branch, controller);
      }
      for (;;) {
        const result: ReadResult | undefined = await reader?.read();
        if (result === undefined || result.done) {
          this.#branch.end("complete");
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        this.#branch.add(result.value);
        if (!isBytes || result.value.byteLength > 0) {
          controller.enqueue(result.value);
          return;
        }
      }
    };
    const cancel = (reason: unknown): Promise<void> | undefined => {
      this.#branch.end("cancelled");
      return this.#reader === undefined
        ? this.#native.get("body")?.cancel(reason)
        : this.#reader.cancel(reason);
    };
    return isBytes
      ? new ReadableStream({ type: "bytes", pull: read, cancel }, noReadAhead)
      : new ReadableStream<Uint8Array>({ pull: read, cancel }, noReadAhead);
  }
}

/**
 * Ends the stream at once when the request is aborted, also while the program does not read. The controller is not held: a
 * response that is being received would otherwise never be garbage collected.
 */
function watchFailure(
  reader: ReadableStreamDefaultReader | undefined,
  branch: BodyBranch,
  controller: StreamController,
): void {
  const held = new WeakRef(controller);
  reader?.closed.catch((error: unknown) => {
    branch.end("failed", error);
    held.deref()?.error(error);
  });
}

/** Whether a stream was read or cancelled. The types of Node only know this for its own streams. */
const isDisturbed = (stream: ReadableStream): boolean =>
  Readable.isDisturbed(stream as unknown as Readable);

const noReadAhead = { highWaterMark: 0 };

type ReadResult =
  | { readonly done: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value?: unknown };

/** The members of the two kinds of controllers that are used. */
interface StreamController {
  readonly byobRequest?: { respond(bytesWritten: number): void } | null | undefined;
  enqueue(chunk: Uint8Array): void;
  close(): void;
  error(error: unknown): void;
}

/** Whether a stream has readers with buffers of their own, as those of responses do. */
function isByteStream(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    return false;
  }
}
