import type { ExchangeFields, RawExchange } from "../../../src/model/records/exchange.ts";
import { readExchange } from "../../../src/workers/exchange/read-exchange.ts";

/** What a response says beside its content. */
type ResponseHead = Partial<Omit<RawExchange, "format" | "part" | "body">>;

const encode = (body: string | Uint8Array | object): Uint8Array => {
  if (body instanceof Uint8Array) {
    return body;
  }
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
};

/** Reads the request of a format. An object is sent as JSON. */
export const readRequestOf = (
  format: string,
  body: string | Uint8Array | object,
  head: ResponseHead = {},
): ExchangeFields =>
  readExchange({ format, part: "request", omittedBytes: 0, ...head, body: encode(body) });

/** Reads a response of a format. An object is sent as JSON. */
export const readResponseOf = (
  format: string,
  body: string | Uint8Array | object,
  head: ResponseHead = {},
): ExchangeFields =>
  readExchange({
    format,
    part: "response",
    status: 200,
    ending: "complete",
    omittedBytes: 0,
    ...head,
    body: encode(body),
  });

/** Server-sent events with data alone, as OpenAI and Gemini send them. */
export const toEvents = (values: readonly unknown[], end = "data: [DONE]\n\n"): string =>
  values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("") + end;

/** Server-sent events whose type is in the data and beside it, as Anthropic and OpenAI's responses send them. */
export const toTypedEvents = (values: readonly { readonly type: string }[]): string =>
  values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join("");

export const eventStream = { contentType: "text/event-stream; charset=utf-8" } as const;

export const warningsOf = ({ metadata }: ExchangeFields): unknown =>
  metadata?.["millrace_exchange_warnings"];
