import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ReceivedDelivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver of webhooks on 127.0.0.1, until the test ends. */
export interface WebhookReceiver {
  readonly url: string;
  /** The host and port, as `webhookHosts` names them. */
  readonly host: string;
  readonly received: readonly ReceivedDelivery[];
}

/**
 * Starts a receiver.
 *
 * @param respond - the status of the response to each delivery, by its index
 */
export async function receiveWebhooks(
  respond: (index: number) => number = () => 204,
): Promise<WebhookReceiver> {
  const received: ReceivedDelivery[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(respond(received.length - 1), { location: "http://127.0.0.1:1/" }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}/hook`, host, received };
}
