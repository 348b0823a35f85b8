import type { ExchangeRun } from "../../main/index.ts";
import { abandonedResponses, BodyRecording } from "./body-recording.ts";
import type { BodyBranch } from "./body-recording.ts";
import { createHiddenField } from "./hidden-field.ts";
import { ObservedStream } from "./observed-stream.ts";

/**
 * Records the body of a response while the program reads it. The response and its stream stay the same objects; only
 * their members that read the body are replaced. The program receives the bytes as they arrive: nothing is read in
 * advance or delayed.
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
      "The response is not a Response of the Fetch standard; its body was not recorded",
    );
    branch.end("complete");
    return;
  }
  const base = Object.getPrototypeOf(response) as typeof Response.prototype;
  bodyField.add(response, new ObservedBody(response, { base, branch }));
  Object.setPrototypeOf(response, derivePrototype(base));
  abandonedResponses.register(response, branch, branch);
}

/** Whether the body of a response can be observed. The program's own `fetch` may return any value. */
const isObservable = (response: Response): boolean =>
  response.body instanceof ReadableStream &&
  !response.body.locked &&
  typeof response.arrayBuffer === "function" &&
  Object.isExtensible(response) &&
  bodyField.get(response) === undefined &&
  Object.getOwnPropertyDescriptor(response, "body") === undefined;

const bodyField = createHiddenField<ObservedBody>();

const findObservedBody = (response: Response): ObservedBody => {
  const body = bodyField.get(response);
  if (body === undefined) {
    throw new TypeError("Illegal invocation");
  }
  return body;
};

/** Prototypes of observed responses, by the original prototype of the response. */
const prototypes = new WeakMap<object, object>();

function derivePrototype(base: typeof Response.prototype): object {
  let prototype = prototypes.get(base);
  if (prototype === undefined) {
    prototype = Object.create(base, {
      body: {
        get(this: Response) {
          return findObservedBody(this).stream;
        },
      },
      ...toMethods({
        clone: (body) => body.clone(),
        arrayBuffer: (body) => body.readAll(),
        text: async (body) => decodeText(await body.readAll()),
        json: async (body): Promise<unknown> => JSON.parse(decodeText(await body.readAll())),
        blob: (body) => body.readBlob(),
        formData: (body) => body.readForm(),
      }),
      ...("bytes" in base
        ? toMethods({ bytes: async (body) => new Uint8Array(await body.readAll()) })
        : {}),
    }) as object;
    prototypes.set(base, prototype);
  }
  return prototype;
}

const toMethods = (
  methods: Readonly<Record<string, (body: ObservedBody) => unknown>>,
): PropertyDescriptorMap =>
  Object.fromEntries(
    Object.entries(methods).map(([name, call]) => [
      name,
      {
        value: function method(this: Response) {
          return call(findObservedBody(this));
        },
        configurable: true,
        writable: true,
      },
    ]),
  );

/** Decodes a body as the Fetch standard requires: removes a byte order mark, and replaces invalid UTF-8. */
const decodeText = (bytes: ArrayBuffer): string => new TextDecoder().decode(bytes);

interface ObservedBodyInit {
  /** The original prototype of the response, whose methods read the body. */
  readonly base: typeof Response.prototype;
  readonly branch: BodyBranch;
}

class ObservedBody {
  readonly #response: Response;
  readonly #base: typeof Response.prototype;
  readonly #branch: BodyBranch;
  /** The stream that the program received. Cloning the response replaces the response's own stream with another one. */
  #stream: ReadableStream<Uint8Array> | undefined;
  #observed: ObservedStream | undefined;

  constructor(response: Response, { base, branch }: ObservedBodyInit) {
    this.#response = response;
    this.#base = base;
    this.#branch = branch;
  }

  get stream(): ReadableStream<Uint8Array> | null {
    const stream = this.#native;
    if (stream !== null && stream !== this.#stream && !stream.locked) {
      this.#stream = stream;
      this.#observed = new ObservedStream(stream, this.#branch);
    }
    return stream;
  }

  clone(): Response {
    const copy = this.#passively(() => this.#base.clone.call(this.#response));
    observe(copy, this.#branch.recording.openBranch());
    return copy;
  }

  async readAll(): Promise<ArrayBuffer> {
    const bytes = await this.#consume(() => this.#base.arrayBuffer.call(this.#response));
    this.#branch.add(new Uint8Array(bytes));
    this.#branch.end("complete");
    return bytes;
  }

  async readBlob(): Promise<Blob> {
    const blob = await this.#consume(() => this.#base.blob.call(this.#response));
    void this.#recordBlob(blob);
    return blob;
  }

  async readForm(): Promise<FormData> {
    const form = await this.#consume(() => this.#base.formData.call(this.#response));
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

  /**
   * Reads the whole body with a method of the response. If the body is already in use, the method rejects, and the run
   * does not end.
   */
  async #consume<Result>(read: () => Promise<Result>): Promise<Result> {
    if (Reflect.get(this.#base, "bodyUsed", this.#response) || this.#native?.locked === true) {
      return await read();
    }
    this.#branch.isReading = true;
    this.#branch.recording.startReading();
    if (this.#observed !== undefined) {
      // The method reads the stream with a reader, also in later turns. Its reads must not be recorded as reads of the
      // program.
      this.#observed.isPassive = true;
    }
    try {
      return await read();
    } catch (error) {
      this.#branch.end("failed", error);
      throw error;
    }
  }

  /** Calls a method of the response that uses the stream synchronously. Its use of the stream is not recorded. */
  #passively<Result>(call: () => Result): Result {
    const observed = this.#observed;
    if (observed === undefined) {
      return call();
    }
    observed.isPassive = true;
    try {
      return call();
    } finally {
      observed.isPassive = false;
    }
  }

  /** The response's own stream. */
  get #native(): ReadableStream<Uint8Array> | null {
    return Reflect.get(this.#base, "body", this.#response) as ReadableStream<Uint8Array> | null;
  }
}
