import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** A request that the API received. */
export interface ModelRequest {
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** The body as text, byte for byte. */
  readonly text: string;
  /** The body as JSON; an empty object if it is something else. */
  readonly body: ModelRequestBody;
}

/** The members of requests on which answers depend. */
export interface ModelRequestBody {
  readonly model?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly tools?: readonly object[];
  readonly messages?: readonly { readonly role: string }[];
  readonly response_format?: object;
  readonly text?: object;
}

/** What the API answers. */
export interface ModelReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text with events is sent as such, another text as HTML, an object as JSON. */
  readonly body: string | object;
  /** Whether the response never ends. Its bytes are sent. */
  readonly isHeld?: boolean;
}

/** Sizes of the pieces in which responses are sent, in bytes: events and characters are cut anywhere. */
const pieceSizes = [1, 7, 2, 23, 5, 113, 3, 61];

/** A remote API of models on loopback, which answers with what a test wants. */
export class FakeModelApi {
  readonly requests: ModelRequest[] = [];
  /** The number of responses whose connection was closed before their end. */
  closedEarly = 0;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #answer: (request: ModelRequest) => ModelReply | undefined;

  constructor(answer: (request: ModelRequest) => ModelReply | undefined) {
    this.#answer = answer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request);
    const received = {
      path: request.url ?? "",
      headers: request.headers,
      text,
      body: parseBody(text),
    };
    this.requests.push(received);
    const reply = this.#answer(received);
    if (reply === undefined) {
      // A model that does not answer.
      return;
    }
    response.on("close", () => {
      this.closedEarly += response.writableFinished ? 0 : 1;
    });
    const { status = 200, headers = {}, body, isHeld = false } = reply;
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    response.writeHead(status, {
      "content-type": typeOf(body),
      "x-request-id": "req_1",
      ...headers,
    });
    let offset = 0;
    for (let piece = 0; offset < bytes.length; piece += 1) {
      const end = offset + (pieceSizes[piece % pieceSizes.length] ?? 1);
      response.write(bytes.subarray(offset, end));
      offset = end;
      await setImmediate();
    }
    if (!isHeld) {
      response.end();
    }
  }
}

const typeOf = (body: string | object): string => {
  if (typeof body === "object") {
    return "application/json";
  }
  return /^(?:data|event):/.test(body) ? "text/event-stream" : "text/html";
};

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseBody(text: string): ModelRequestBody {
  try {
    return JSON.parse(text) as ModelRequestBody;
  } catch {
    return {}; // The body of a form.
  }
}

/** Starts an API that stops when the test ends. Without an answer the client waits. */
export async function startModelApi(
  answer: (request: ModelRequest) => ModelReply | undefined,
): Promise<FakeModelApi> {
  const api = new FakeModelApi(answer);
  await api.listen();
  onTestFinished(() => api.close());
  return api;
}

/** Server-sent events with data alone. */
export const toDataEvents = (values: readonly object[], end = "data: [DONE]\n\n"): string =>
  values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("") + end;

export interface TypedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Server-sent events with the type that the data has. */
export const toNamedEvents = (values: readonly TypedEvent[]): string =>
  values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join("");
