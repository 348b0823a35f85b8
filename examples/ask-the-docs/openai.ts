import type { Model } from "./answer.ts";

/** Where the OpenAI model is reached. The key is sent to `baseUrl` and goes nowhere else. */
export interface OpenAiOptions {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** Answers by an OpenAI-compatible chat API, streamed. */
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
      throw new OpenAiError(`The chat API answered ${response.status}: ${reason}`);
    }
    for await (const line of readLines(response.body)) {
      const token = parseToken(line);
      if (token !== undefined) {
        yield token;
      }
    }
  };

/** The chat API refused, or answered what is not a stream of tokens. */
export class OpenAiError extends Error {
  override readonly name = "OpenAiError";
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest;
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
