import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createAsk } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import type { Question } from "./questions.ts";

/** The HTTP server of the example and the URL of its route. */
export interface Backend {
  readonly backend: Server;
  readonly url: string;
}

/** Serves the question-answering pipeline on a free port of this machine. */
export const serve = async (options: AskOptions): Promise<Backend> => {
  const backend = createBackend(createAsk(options)).listen(0, "127.0.0.1");
  await once(backend, "listening");
  const { port } = backend.address() as AddressInfo;
  return { backend, url: `http://127.0.0.1:${port}/ask` };
};

/**
 * The HTTP route: `POST /ask` with a {@link Question} responds with lines of JSON: one `token` each, and at the end the
 * whole `answer` or an `error`.
 */
const createBackend = (ask: Ask): Server =>
  createServer((request, response) => {
    if (request.method !== "POST" || request.url !== "/ask") {
      response.writeHead(404).end();
      return;
    }
    void handleAsk(ask, request, response);
  });

// Never rejects: an error becomes the last line of the response.
const handleAsk = async (
  ask: Ask,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const send = (line: object): boolean => response.write(`${JSON.stringify(line)}\n`);
  try {
    const question = parseQuestion(await text(request));
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    send({ answer: await ask(question, (token) => send({ token })) });
  } catch (error) {
    if (!response.headersSent) {
      response.writeHead(400, { "content-type": "application/x-ndjson" });
    }
    send({ error: error instanceof Error ? error.message : String(error) });
  }
  response.end();
};

/** Parses the body of a request. Only the text of the question is required. */
export const parseQuestion = (body: string): Question => {
  const value = JSON.parse(body) as Partial<Question> | null;
  if (typeof value?.question !== "string") {
    throw new TypeError("`question` must be a string.");
  }
  const { question, page = "", breadth = 4, language = "en", stalled = false } = value;
  return { question, page, breadth, language, ...(stalled ? { stalled } : {}) };
};
