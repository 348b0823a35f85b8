import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What the model answers to one request: a text, or calls of tools. An Error is a response with status 400. */
export type Answer = string | readonly ToolCall[] | Error;

interface ToolCall {
  readonly name: string;
  readonly arguments: object;
}

/** A fake of the OpenAI API on loopback that gives the answers in turn. It serves responses and chat completions. */
export async function startFakeOpenAi(answers: readonly Answer[]) {
  const waiting = [...answers];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = "" } = request;
    const body = await readBody(request);
    send(response, { path, answer: waiting.shift() ?? "nothing", body });
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseURL: `http://127.0.0.1:${port}/v1` };
}

async function readBody(request: IncomingMessage): Promise<{ readonly stream?: boolean }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as { readonly stream?: boolean };
}

interface Sent {
  readonly path: string;
  readonly answer: Answer;
  readonly body: { readonly stream?: boolean };
}

function send(response: ServerResponse, { path, answer, body }: Sent): void {
  if (answer instanceof Error) {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: answer.message, type: "invalid" } }));
    return;
  }
  const isResponse = path.endsWith("/responses");
  const content = isResponse ? toResponse(answer) : toCompletion(answer);
  if (body.stream !== true) {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(content));
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  const events = isResponse
    ? [
        { type: "response.created", response: { ...content, status: "in_progress", output: [] } },
        { type: "response.completed", response: content },
      ]
    : [...toCompletionChunks(answer)];
  for (const event of events) {
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(isResponse ? "" : "data: [DONE]\n\n");
}

function toResponse(answer: string | readonly ToolCall[]): object {
  const output =
    typeof answer === "string"
      ? [
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: answer, annotations: [] }],
          },
        ]
      : answer.map(({ name, arguments: given }, index) => ({
          type: "function_call",
          id: `fc_${index}`,
          call_id: `call_${name}_${index}`,
          name,
          arguments: JSON.stringify(given),
          status: "completed",
        }));
  return {
    id: "resp_1",
    object: "response",
    model: "gpt-test",
    status: "completed",
    output,
    usage: {
      input_tokens: 12,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 15,
    },
  };
}

function toCompletion(answer: string | readonly ToolCall[]): object {
  return {
    id: "chatcmpl_1",
    object: "chat.completion",
    model: "gpt-test",
    choices: [{ index: 0, message: toMessage(answer), finish_reason: "stop" }],
    usage: completionUsage,
  };
}

/** The chunks of a streamed completion: the message in one, and then the usage. */
function* toCompletionChunks(answer: string | readonly ToolCall[]): Generator<object> {
  const chunk = { id: "chatcmpl_1", object: "chat.completion.chunk", model: "gpt-test" };
  yield { ...chunk, choices: [{ index: 0, delta: toMessage(answer), finish_reason: null }] };
  yield { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  yield { ...chunk, choices: [], usage: completionUsage };
}

const toMessage = (answer: string | readonly ToolCall[]): object =>
  typeof answer === "string"
    ? { role: "assistant", content: answer }
    : {
        role: "assistant",
        content: null,
        tool_calls: answer.map(({ name, arguments: given }, index) => ({
          index,
          id: `call_${index}`,
          type: "function",
          function: { name, arguments: JSON.stringify(given) },
        })),
      };

const completionUsage = {
  prompt_tokens: 7,
  completion_tokens: 2,
  total_tokens: 9,
  prompt_tokens_details: { cached_tokens: 5 },
};
