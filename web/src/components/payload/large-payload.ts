import type { ChatMessage } from "./chat-messages.ts";
import type { JsonRow } from "./json-tree.ts";
import type { PayloadMode } from "./payload-mode.ts";
import type { PayloadTable } from "./payload-table.ts";
import type { OpenedDocument, PayloadMethod, PayloadSource, Prose } from "./payload-source.ts";

/** The worker parses documents with more bytes than this, so that parsing does not block the UI. */
const maxInlineBytes = 50_000;

/**
 * Parses a JSON document. Large members stay in the worker's memory; the result contains a {@link LargePayload} for
 * each.
 */
export async function openDocument(bytes: ArrayBuffer): Promise<unknown> {
  if (bytes.byteLength <= maxInlineBytes || typeof Worker === "undefined") {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return value;
  }
  const { value, storedMembers } = (await sendRequest({ kind: "open", call: 0, bytes }, [
    bytes,
  ])) as OpenedDocument;
  const largeMembers = Object.entries(storedMembers).map(([name, { document, sizeChars }]) => [
    name,
    new LargePayload(document, sizeChars),
  ]);
  return typeof value === "object" && value !== null && largeMembers.length > 0
    ? { ...value, ...(Object.fromEntries(largeMembers) as object) }
    : value;
}

/** A value in the memory of the worker. Each method requests the displayed part of the value from the worker. */
class LargePayload implements PayloadSource {
  /** The length of the value's JSON, in characters. */
  readonly sizeChars: number;
  readonly #document: number;

  constructor(documentNumber: number, sizeChars: number) {
    this.#document = documentNumber;
    this.sizeChars = sizeChars;
    finalizers.register(this, documentNumber);
  }

  async listModes(): Promise<readonly PayloadMode[]> {
    return this.#call("listModes") as Promise<readonly PayloadMode[]>;
  }

  async readMessages(): Promise<readonly ChatMessage[]> {
    return this.#call("readMessages") as Promise<readonly ChatMessage[]>;
  }

  async readProse(): Promise<Prose> {
    return this.#call("readProse") as Promise<Prose>;
  }

  async readJson(): Promise<string> {
    return this.#call("readJson") as Promise<string>;
  }

  async countRows(): Promise<number> {
    return this.#call("countRows") as Promise<number>;
  }

  async readTable(): Promise<PayloadTable> {
    return this.#call("readTable") as Promise<PayloadTable>;
  }

  async readYaml(): Promise<string> {
    return this.#call("readYaml") as Promise<string>;
  }

  async readRows(from: number, to: number): Promise<readonly JsonRow[]> {
    return this.#call("readRows", from, to) as Promise<readonly JsonRow[]>;
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

  async reveal(matchIndex: number): Promise<number> {
    return this.#call("reveal", matchIndex) as Promise<number>;
  }

  async readPath(index: number): Promise<string> {
    return this.#call("readPath", index) as Promise<string>;
  }

  async readText(index: number): Promise<string> {
    return this.#call("readText", index) as Promise<string>;
  }

  #call(method: PayloadMethod, ...args: readonly unknown[]): Promise<unknown> {
    return sendRequest({ kind: "call", call: 0, document: this.#document, method, args });
  }
}

/** Makes the worker release a value after its {@link LargePayload} has been garbage-collected. */
const finalizers = new FinalizationRegistry<number>((documentNumber) =>
  postToWorker({ kind: "close", document: documentNumber }),
);

/** The functions that settle the promise of a request to which the worker has not responded yet. */
interface PendingRequest {
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

const pendingRequests = new Map<number, PendingRequest>();
let worker: Worker | undefined;
let lastCallNumber = 0;

async function sendRequest(
  request: Exclude<PayloadRequest, { kind: "close" }>,
  transfer: Transferable[] = [],
): Promise<unknown> {
  lastCallNumber += 1;
  const callNumber = lastCallNumber;
  return new Promise((resolve, reject) => {
    pendingRequests.set(callNumber, { resolve, reject });
    postToWorker({ ...request, call: callNumber }, transfer);
  });
}

function postToWorker(request: PayloadRequest, transfer: Transferable[] = []): void {
  worker ??= startWorker();
  worker.postMessage(request, transfer);
}

function startWorker(): Worker {
  const newWorker = new Worker(new URL("./payload.worker.ts", import.meta.url), {
    type: "module",
    name: "payload",
  });
  newWorker.addEventListener("message", ({ data }: MessageEvent<PayloadReply>) => {
    const pending = pendingRequests.get(data.call);
    pendingRequests.delete(data.call);
    if ("failure" in data) {
      pending?.reject(new Error(data.failure));
    } else {
      pending?.resolve(data.value);
    }
  });
  newWorker.addEventListener("error", () => {
    worker = undefined;
    const failedRequests = [...pendingRequests.values()];
    pendingRequests.clear();
    failedRequests.forEach(({ reject }) =>
      reject(new Error("The value could not be read. Try again.")),
    );
  });
  return newWorker;
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
