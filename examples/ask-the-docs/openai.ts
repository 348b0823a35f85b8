import type { Model } from "./answer.ts";

/** Options of an OpenAI-compatible API. The key is sent only to `baseUrl`. */
export interface OpenAiOptions {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** Creates a model that streams answers from an OpenAI-compatible chat API. */
export const openAiModel = ({ apiKey, baseUrl, model }: OpenAiOptions): Model =>
  async function* (messages, signal) {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, messages, stream: true }),
      signal,
    });
    if (!response.ok || response.body === null) {
      const reason = (await response.text()).slice(0, 500);
      throw new OpenAiError(`The chat API responded with ${response.status}: ${reason}`);
    }
    for await (const line of readLines(response.body)) {
      const token = parseToken(line);
      if (token !== undefined) {
        yield token;
      }
    }
  };

/** The chat API refused the request, or its response has no body. */
export class OpenAiError extends Error {
  override readonly name = "OpenAiError";
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let incompleteLine = "";
  for await (const chunk of body) {
    const lines = (incompleteLine + decoder.decode(chunk, { stream: true })).split("\n");
    incompleteLine = lines.pop() ?? "";
    yield* lines;
  }
  yield incompleteLine;
}

/** The text in one line of the stream: `data: {"choices":[{"delta":{"content":"..."}}]}`. */
export const parseToken = (line: string): string | undefined => {
  if (!line.startsWith("data: ") || line.startsWith("data: [DONE]")) {
    return undefined;
  }
  const data: unknown = JSON.parse(line.slice("data: ".length));
  const { choices } = data as { choices?: { delta?: { content?: string | null } }[] };
  return choices?.[0]?.delta?.content ?? undefined;
};
