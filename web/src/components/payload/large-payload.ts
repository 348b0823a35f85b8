import type { ChatMessage } from "./chat-messages.ts";
import type { JsonRow } from "./json-tree.ts";
import type {
  OpenedDocument,
  PayloadMethod,
  PayloadMode,
  PayloadSource,
} from "./payload-source.ts";

/** Larger documents, in bytes, are parsed by the worker. */
const inlineBytes = 50_000;

/** Parses a document's JSON. Large members stay in the worker and are represented by a {@link LargePayload}. */
export async function openDocument(bytes: ArrayBuffer): Promise<unknown> {
  if (bytes.byteLength <= inlineBytes || typeof Worker === "undefined") {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return value;
  }
  const { value, stored } = (await sendRequest({ kind: "open", call: 0, bytes }, [
    bytes,
  ])) as OpenedDocument;
  const large = Object.entries(stored).map(([name, { document, sizeChars }]) => [
    name,
    new LargePayload(document, sizeChars),
  ]);
  return typeof value === "object" && value !== null && large.length > 0
    ? { ...value, ...(Object.fromEntries(large) as object) }
    : value;
}

/** A value in the memory of the worker. Each method requests the displayed part from it. */
class LargePayload implements PayloadSource {
  /** The length of the value's JSON, in characters. */
  readonly sizeChars: number;
  readonly #document: number;

  constructor(document: number, sizeChars: number) {
    this.#document = document;
    this.sizeChars = sizeChars;
    finalizers.register(this, document);
  }

  async modes(): Promise<readonly PayloadMode[]> {
    return this.#call("modes") as Promise<readonly PayloadMode[]>;
  }

  async messages(): Promise<readonly ChatMessage[]> {
    return this.#call("messages") as Promise<readonly ChatMessage[]>;
  }

  async prose(): Promise<string> {
    return this.#call("prose") as Promise<string>;
  }

  async json(): Promise<string> {
    return this.#call("json") as Promise<string>;
  }

  async count(): Promise<number> {
    return this.#call("count") as Promise<number>;
  }

  async rows(from: number, to: number): Promise<readonly JsonRow[]> {
    return this.#call("rows", from, to) as Promise<readonly JsonRow[]>;
  }

  async toggle(index: number): Promise<number> {
    return this.#call("toggle", index) as Promise<number>;
  }

  async expandAll(): Promise<number> {
    return this.#call("expandAll") as Promise<number>;
  }

  async collapseAll(): Promise<number> {
    return this.#call("collapseAll") as Promise<number>;
  }

  async search(text: string): Promise<number> {
    return this.#call("search", text) as Promise<number>;
  }

  async reveal(match: number): Promise<number> {
    return this.#call("reveal", match) as Promise<number>;
  }

  async path(index: number): Promise<string> {
    return this.#call("path", index) as Promise<string>;
  }

  async text(index: number): Promise<string> {
    return this.#call("text", index) as Promise<string>;
  }

  #call(method: PayloadMethod, ...args: readonly unknown[]): Promise<unknown> {
    return sendRequest({ kind: "call", call: 0, document: this.#document, method, args });
  }
}

/** Tells the worker to release a payload when its {@link LargePayload} was garbage-collected. */
const finalizers = new FinalizationRegistry<number>((document) =>
  post({ kind: "close", document }),
);

/** A request without a response so far. */
interface PendingRequest {
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

const pendingRequests = new Map<number, PendingRequest>();
let worker: Worker | undefined;
let lastCall = 0;

async function sendRequest(
  request: Exclude<PayloadRequest, { kind: "close" }>,
  transfer: Transferable[] = [],
): Promise<unknown> {
  lastCall += 1;
  const call = lastCall;
  return new Promise((resolve, reject) => {
    pendingRequests.set(call, { resolve, reject });
    post({ ...request, call }, transfer);
  });
}

function post(request: PayloadRequest, transfer: Transferable[] = []): void {
  worker ??= startWorker();
  worker.postMessage(request, transfer);
}

function startWorker(): Worker {
  const started = new Worker(new URL("./payload.worker.ts", import.meta.url), {
    type: "module",
    name: "payload",
  });
  started.addEventListener("message", ({ data }: MessageEvent<PayloadReply>) => {
    const pending = pendingRequests.get(data.call);
    pendingRequests.delete(data.call);
    if ("failure" in data) {
      pending?.reject(new Error(data.failure));
    } else {
      pending?.resolve(data.value);
    }
  });
  started.addEventListener("error", () => {
    worker = undefined;
    const failed = [...pendingRequests.values()];
    pendingRequests.clear();
    failed.forEach(({ reject }) => reject(new Error("The value could not be read. Try again.")));
  });
  return started;
}

/** A request to the worker. The response has the same `call` number. */
export type PayloadRequest =
  | { readonly kind: "open"; readonly call: number; readonly bytes: ArrayBuffer }
  | {
      readonly kind: "call";
      readonly call: number;
      readonly document: number;
      readonly method: PayloadMethod;
      readonly args: readonly unknown[];
    }
  | { readonly kind: "close"; readonly document: number };

/** A response of the worker. */
export type PayloadReply =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: string };
