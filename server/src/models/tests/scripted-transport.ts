import type { ModelHttpRequest, ModelHttpResponse, ModelTransport } from "../model-transport.ts";

/** A response. Members that are absent have the values of a stream that succeeds. */
export interface ScriptedResponse extends Partial<Omit<ModelHttpResponse, "chunks">> {
  readonly body: string | readonly string[] | AsyncIterable<Uint8Array>;
}

/** A transport that keeps the requests, and answers each with the next of its responses. */
export class ScriptedTransport implements ModelTransport {
  readonly requests: ModelHttpRequest[] = [];
  readonly #responses: (ScriptedResponse | Error)[];

  constructor(...responses: (ScriptedResponse | Error)[]) {
    this.#responses = responses;
  }

  async send(request: ModelHttpRequest): Promise<ModelHttpResponse> {
    this.requests.push(request);
    const response = this.#responses.shift() ?? new Error("no response is left");
    if (response instanceof Error) {
      throw response;
    }
    const { body, ...head } = response;
    return {
      status: 200,
      contentType: "text/event-stream",
      retryAfterSeconds: undefined,
      ...head,
      chunks: isTexts(body) ? toChunks(body) : body,
    };
  }
}

const isTexts = (body: ScriptedResponse["body"]): body is string | readonly string[] =>
  typeof body === "string" || Array.isArray(body);

async function* toChunks(body: string | readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of [body].flat()) {
    yield Buffer.from(part);
  }
}

/** The text of a stream with these events. */
export const toStream = (events: readonly unknown[]): string =>
  events
    .map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
    .join("");
