import { markActiveSpan } from "../recorded-spans.ts";
import { traceRequests } from "../traced-client.ts";
import type { ModelClient, TraceClientOptions } from "../traced-client.ts";

export { withRunOptions } from "../fetch/index.ts";
export type { CallRunOptions } from "../fetch/index.ts";
export type { TraceClientOptions } from "../traced-client.ts";

/**
 * A client of the package `@anthropic-ai/sdk`: `Anthropic`, or a class that extends it, such as the one for Vertex AI.
 */
export interface AnthropicClient extends ModelClient {
  readonly messages: object;
}

/** Prefix of the instrumentation scopes with which Anthropic's SDK creates OpenTelemetry spans. */
const instrumentationScope = "com.anthropic.sdk.typescript";

/** Matches the paths of the recorded calls, for which Anthropic's SDK also creates spans. */
const recordedPath = /\/v1\/messages(?:\?|$)|:(?:streamR|r)awPredict(?:\?|$)/;

/**
 * Records an Anthropic client's calls of the Messages API as runs, streamed or not, including calls of `beta` and of
 * helpers such as `stream` and `toolRunner`. The bytes of request and response are copied as they pass. The program
 * gets the same objects, streams and errors as without this function.
 *
 * Anthropic's SDK also creates OpenTelemetry spans. If `millrace/otel` records spans as runs, it leaves out the spans
 * of the calls that are recorded here. Other exporters receive them as before.
 *
 * Changes `client`, and returns it. The clients that its `withOptions` creates are recorded too. A second call has no
 * effect.
 *
 * @throws `OptionError` if `client` is not a client of the package, or an option is unknown.
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

/**
 * Wraps a `fetch` so that it marks the active span as already recorded. During a call, this is the span of the call.
 */
const markSpans =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  (input, init) => {
    if (typeof input === "string" && recordedPath.test(input)) {
      markActiveSpan(instrumentationScope);
    }
    return fetch(input, init);
  };
