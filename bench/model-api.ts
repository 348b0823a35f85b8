// A server with the API of a model that streams answers. integrations.bench.ts starts it as a separate process, and it sends
// its address to the parent process. The size of an answer, in bytes of the stream, is the name of the requested model.
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

const server = createServer((request, response) => {
  void answer(request, response);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`http://127.0.0.1:${port}/v1`);
});
process.once("disconnect", () => process.exit());

/** The events of the answers by the name of the model. */
const answers = new Map<string, readonly Buffer[]>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
  }
  const { model } = JSON.parse(Buffer.concat(chunks).toString()) as { readonly model: string };
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "x-request-id": "req_0123456789abcdef0123456789abcdef",
  });
  // Each event is written alone, as by a model that writes token by token.
  for (const event of eventsOf(model)) {
    response.write(event);
    await nextTurn();
  }
  response.end();
}

function eventsOf(model: string): readonly Buffer[] {
  let events = answers.get(model);
  if (events === undefined) {
    events = createEvents(Number(model), model);
    answers.set(model, events);
  }
  return events;
}

/** Events as those of OpenAI's API, with a token each. */
function createEvents(sizeBytes: number, model: string): readonly Buffer[] {
  const toEvent = (delta: object, finish_reason: string | null = null): Buffer =>
    Buffer.from(
      `data: ${JSON.stringify({
        id: "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012",
        object: "chat.completion.chunk",
        created: 1_760_000_000,
        model,
        system_fingerprint: "fp_0123456789",
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      })}\n\n`,
    );
  const events = [toEvent({ role: "assistant", content: "", refusal: null })];
  const last = [toEvent({}, "stop"), Buffer.from("data: [DONE]\n\n")];
  let remaining = sizeBytes - [...events, ...last].reduce((sum, { length }) => sum + length, 0);
  while (remaining > 0) {
    const event = toEvent({ content: " token" });
    events.push(event);
    remaining -= event.length;
  }
  return [...events, ...last];
}
