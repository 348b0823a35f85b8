import type { ModelEndpoint } from "../model/model-endpoint.ts";
import { OutboundClient } from "../outbound/outbound-client.ts";
import type { OutboundLimits } from "../outbound/outbound-limits.ts";
import { modelCallLimits } from "./call-model.ts";
import type { ModelHttpRequest, ModelHttpResponse, ModelTransport } from "./model-transport.ts";

/** Limits of the connection. A model may think for a while before and while it answers. */
const connectionLimits: OutboundLimits = {
  connectMs: 10_000,
  headersMs: 180_000,
  idleMs: 120_000,
  totalMs: modelCallLimits.callMs,
  responseBytes: modelCallLimits.responseBytes,
};

/** Sends requests to the endpoints that the operator configured, at addresses that were checked. */
export class OutboundTransport implements ModelTransport {
  readonly #client: OutboundClient;
  readonly #limits: OutboundLimits;

  constructor(endpoints: readonly ModelEndpoint[], limits: Partial<OutboundLimits> = {}) {
    this.#limits = { ...connectionLimits, ...limits };
    this.#client = new OutboundClient({
      flag: "--model-endpoint NAME=private+",
      allowedHosts: endpoints
        .filter(({ allowsPrivateAddress }) => allowsPrivateAddress)
        .map(({ url }) => toAllowedHost(new URL(url))),
    });
  }

  async send(request: ModelHttpRequest): Promise<ModelHttpResponse> {
    const { url, headers, body, tenantId, signal } = request;
    const response = await this.#client.request({
      method: "POST",
      url,
      headers,
      body,
      tenantId,
      signal,
      limits: this.#limits,
    });
    return {
      status: response.status,
      contentType:
        readHeader(response.headers["content-type"]).split(";")[0]?.trim().toLowerCase() ?? "",
      retryAfterSeconds: parseRetryAfter(readHeader(response.headers["retry-after"])),
      chunks: response.chunks(),
    };
  }

  close(): void {
    this.#client.close();
  }
}

const toAllowedHost = ({ hostname, port, protocol }: URL) => ({
  host: hostname,
  port: port === "" ? defaultPorts[protocol] : port,
});

const defaultPorts: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

const readHeader = (value: string | readonly string[] | undefined): string =>
  [value].flat()[0] ?? "";

/** Longer waits are ignored, because no user would wait that long. */
const maxRetryAfterSeconds = 86_400;

/** Reads the header as a number of seconds. The header's other form, a date, is rare and is ignored. */
function parseRetryAfter(text: string): number | undefined {
  const seconds = Number(text);
  return /^\d{1,6}(?:\.\d+)?$/.test(text) && seconds <= maxRetryAfterSeconds
    ? Math.ceil(seconds)
    : undefined;
}
