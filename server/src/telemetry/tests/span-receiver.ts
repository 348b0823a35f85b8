import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Span } from "millrace/spans";
import { onTestFinished } from "vitest";
import { decodeSpans } from "../../otlp/decode.ts";

/** A request that a {@link SpanReceiver} got. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ReceivedSpan extends Omit<Span, "attributes" | "resource"> {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A receiver of spans that keeps them. */
export interface SpanReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly ReceivedRequest[];
}

/** Starts a receiver of OTLP, which ends with the test. */
export async function startSpanReceiver(status = 200): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({ path: request.url ?? "", headers: request.headers });
      const received = decodeSpans(Buffer.concat(chunks), "protobuf");
      spans.push(
        ...received.spans.map((span) => ({
          ...span,
          attributes: Object.fromEntries(span.attributes),
          resource: Object.fromEntries(span.resource),
        })),
      );
      response.writeHead(status).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, requests };
}
