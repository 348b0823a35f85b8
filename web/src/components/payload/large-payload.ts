import type { ChatMessage } from "./chat-messages.ts";
import type { JsonRow } from "./json-tree.ts";
import type {
  OpenedDocument,
  PayloadMethod,
  PayloadMode,
  PayloadSource,
} from "./payload-source.ts";

/** Bytes beyond which a document is parsed by the worker. */
const inlineBytes = 50_000;

/** Parses a document's JSON; its large members come as {@link LargePayload}, which the worker holds. */
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

/** A value that the worker holds; what is shown of it is asked for. */
class LargePayload implements PayloadSource {
  /** Characters of its JSON text. */
  readonly sizeChars: number;
  readonly #document: number;

  constructor(document: number, sizeChars: number) {
    this.#document = document;
    this.sizeChars = sizeChars;
    unreachable.register(this, document);
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

  async openAll(): Promise<number> {
    return this.#call("openAll") as Promise<number>;
  }

  async closeAll(): Promise<number> {
    return this.#call("closeAll") as Promise<number>;
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

/** The worker releases payloads that are no longer shown. */
const unreachable = new FinalizationRegistry<number>((document) =>
  post({ kind: "close", document }),
);

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
}

const waiting = new Map<number, Waiting>();
let worker: Worker | undefined;
let lastCall = 0;

async function sendRequest(
  request: Exclude<PayloadRequest, { kind: "close" }>,
  moved: Transferable[] = [],
): Promise<unknown> {
  lastCall += 1;
  const call = lastCall;
  return new Promise((resolve, reject) => {
    waiting.set(call, { resolve, reject });
    post({ ...request, call }, moved);
  });
}

function post(request: PayloadRequest, moved: Transferable[] = []): void {
  worker ??= startWorker();
  worker.postMessage(request, moved);
}

function startWorker(): Worker {
  const started = new Worker(new URL("./payload.worker.ts", import.meta.url), {
    type: "module",
    name: "payload",
  });
  started.addEventListener("message", ({ data }: MessageEvent<PayloadReply>) => {
    const pending = waiting.get(data.call);
    waiting.delete(data.call);
    if ("failure" in data) {
      pending?.reject(new Error(data.failure));
    } else {
      pending?.resolve(data.value);
    }
  });
  started.addEventListener("error", () => {
    worker = undefined;
    const lost = [...waiting.values()];
    waiting.clear();
    lost.forEach(({ reject }) => reject(new Error("the value could not be read; try again")));
  });
  return started;
}

/** What the page asks of its worker; `call` names the answer. */
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

export type PayloadReply =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: string };
