import { traceRequests } from "../traced-client.ts";
import type { ModelClient, TraceClientOptions } from "../traced-client.ts";

export { withRunOptions } from "../fetch/index.ts";
export type { CallRunOptions } from "../fetch/index.ts";
export type { TraceClientOptions } from "../traced-client.ts";

/** A client of the package `openai`: `OpenAI`, `AzureOpenAI`, or a class that extends them. */
export interface OpenAiClient extends ModelClient {
  readonly chat: object;
}

/**
 * Records the calls of an OpenAI client as runs: chat completions, responses, completions, embeddings, images and
 * transcriptions, streamed or not, including the calls of helpers such as `parse`, `stream` and `runTools`. The bytes
 * of request and response are copied as they pass. The program gets the same objects, streams and errors as without
 * this function.
 *
 * Changes `client`, and returns it. The clients that its `withOptions` creates are recorded too. A second call has no
 * effect. Calls over WebSockets are not recorded.
 *
 * @throws `OptionError` if `client` is not a client of the package, or an option is unknown.
 */
export function wrapOpenAI<Client extends OpenAiClient>(
  client: Client,
  options: TraceClientOptions = {},
): Client {
  traceRequests(client, {
    wrapperName: "wrapOpenAI",
    example: "new OpenAI()",
    api: "openai",
    options,
  });
  return client;
}
