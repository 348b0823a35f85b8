import { markActiveSpan } from "../recorded-spans.ts";
import { traceRequests } from "../traced-client.ts";
import type { ModelClient, TraceClientOptions } from "../traced-client.ts";

export { withRunOptions } from "../fetch/index.ts";
export type { CallRunOptions } from "../fetch/index.ts";
export type { TraceClientOptions } from "../traced-client.ts";

/** A client of the package `@anthropic-ai/sdk`: `Anthropic`, or a class that extends it, such as the one for Vertex AI. */
export interface AnthropicClient extends ModelClient {
  readonly messages: object;
}

/** The beginning of the names under which Anthropic's SDK creates spans of OpenTelemetry. */
const instrumentationScope = "com.anthropic.sdk.typescript";

/** The paths of the calls that are recorded, for which Anthropic's SDK creates spans. */
const recordedPath = /\/v1\/messages(?:\?|$)|:(?:streamR|r)awPredict(?:\?|$)/;

/**
 * Records the calls of messages of an Anthropic client as runs, streamed or not, also those of `beta` and of helpers such as
 * `stream` and `toolRunner`. The bytes of request and response are copied as they pass; the program gets the same objects,
 * streams and errors as without.
 *
 * Anthropic's SDK creates spans of OpenTelemetry of its own. Where `millrace/otel` records spans as runs, it leaves those of
 * calls out that are recorded here. Other exporters get them as before.
 *
 * Changes `client`, and returns it. The clients that its `withOptions` creates are recorded too. A second call has no
 * effect.
 *
 * @throws an `OptionError`: `client` is no client of the package, or an option is unknown.
 */
export function wrapAnthropic<Client extends AnthropicClient>(
  client: Client,
  options: TraceClientOptions = {},
): Client {
  traceRequests(client, {
    wrapperName: "wrapAnthropic",
    example: "new Anthropic()",
    api: "anthropic",
    options,
    adapt: markSpans,
  });
  return client;
}

/** The span of a call is the active one while its requests are sent. */
const markSpans =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  (input, init) => {
    if (typeof input === "string" && recordedPath.test(input)) {
      markActiveSpan(instrumentationScope);
    }
    return fetch(input, init);
  };
