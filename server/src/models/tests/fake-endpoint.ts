import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { toStream } from "./scripted-transport.ts";

/** A request that an endpoint has received. */
export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: { readonly model?: string; readonly messages?: readonly unknown[] };
}

/** Answers a request that an endpoint has received. */
export type Respond = (response: ServerResponse, call: ReceivedCall) => void;

/** An endpoint on this machine until the test ends. `respond` answers each request. */
export async function startEndpoint(respond: Respond) {
  const endpoint = await listenAsEndpoint(respond);
  onTestFinished(endpoint.close);
  return endpoint;
}

/** An endpoint on this machine until it is closed. */
export async function listenAsEndpoint(respond: Respond) {
  const calls: ReceivedCall[] = [];
  let closedEarly = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ReceivedCall["body"];
      const call = { path: request.url ?? "", headers: request.headers, body };
      calls.push(call);
      response.once("close", () => {
        closedEarly += response.writableEnded ? 0 : 1;
      });
      respond(response, call);
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    calls,
    close,
    /** Responses that the other side did not read to their end. */
    get closedEarly() {
      return closedEarly;
    },
  };
}

const usage = { prompt_tokens: 20, completion_tokens: 10 };

/** The stream of an answer with this text. */
export const createAnswer = (text: string): string =>
  toStream([
    { model: "m-1", choices: [{ delta: { content: text } }] },
    { choices: [{ delta: {}, finish_reason: "stop" }] },
    { choices: [], usage },
    "[DONE]",
  ]);

export const sendStream = (response: ServerResponse, text: string): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(text);
};
