import { toDataEvents, toNamedEvents } from "./fake-model-api.ts";
import type { ModelReply, ModelRequest, TypedEvent } from "./fake-model-api.ts";

/** The text of the answers, with characters of several bytes. */
export const answerText = '{"answer":"Grüße 🐎","steps":[1,2,3]}';

const usage = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};

const toolCalls = [
  {
    id: "call_a",
    type: "function",
    function: { name: "getWeather", arguments: '{"city":"Zürich","days":2}' },
  },
  { id: "call_b", type: "function", function: { name: "getTime", arguments: '{"zone":"CET"}' } },
] as const;

/** Answers a request as OpenAI's API does. The name of the model says what to do instead. */
export function replyAsOpenAi({ path, body }: ModelRequest): ModelReply | undefined {
  switch (body.model) {
    case "hangs":
      return undefined;
    case "fails":
      return {
        status: 500,
        headers: { "retry-after-ms": "1" },
        body: { error: { message: "It broke", type: "server_error", param: null, code: null } },
      };
    case "html":
      return { body: "<!DOCTYPE html><html><head><title>Log in</title></head></html>" };
    default:
      break;
  }
  const reply = replyTo(path.split("?")[0] ?? "", body);
  if (body.model !== "slow") {
    return reply;
  }
  const events = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body);
  return { ...reply, body: events.slice(0, events.length / 2), isHeld: true };
}

function replyTo(path: string, body: ModelRequest["body"]): ModelReply {
  if (path.endsWith("/chat/completions")) {
    return { body: body.stream === true ? toDataEvents(chatChunks(body)) : completion(body) };
  }
  if (path.endsWith("/responses")) {
    return { body: body.stream === true ? toNamedEvents(responseEvents(body)) : response(body) };
  }
  if (path.endsWith("/completions")) {
    const choice = (text: string, finish_reason: string | null) => ({
      id: "cmpl_1",
      object: "text_completion",
      created: 1,
      model: body.model,
      choices: [{ index: 0, text, logprobs: null, finish_reason }],
    });
    return {
      body:
        body.stream === true
          ? toDataEvents([choice("Grü", null), choice("ße", "stop")])
          : { ...choice("Grüße", "stop"), usage },
    };
  }
  if (path.endsWith("/embeddings")) {
    const vector = Buffer.from(new Float32Array(256).fill(0.5).buffer).toString("base64");
    return {
      body: {
        object: "list",
        model: body.model,
        data: [{ object: "embedding", index: 0, embedding: vector }],
        usage: { prompt_tokens: 5, total_tokens: 5 },
      },
    };
  }
  if (path.includes("/images/")) {
    return { body: { created: 1, data: [{ b64_json: "AAAAAAAA" }], output_format: "png" } };
  }
  if (path.includes("/audio/")) {
    return { body: { text: "Grüße", usage: { type: "duration", seconds: 1 } } };
  }
  return { body: { object: "list", data: [{ id: "gpt-4o", object: "model" }] } };
}

const usesTools = ({ tools = [], messages = [] }: ModelRequest["body"]): boolean =>
  tools.length > 0 && messages.at(-1)?.role !== "tool";

const completion = (body: ModelRequest["body"]) => ({
  id: "chatcmpl_1",
  object: "chat.completion",
  created: 1,
  model: `${body.model}-2024-08-06`,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: usesTools(body) ? null : answerText,
        refusal: null,
        ...(usesTools(body) ? { tool_calls: toolCalls } : {}),
      },
      logprobs: null,
      finish_reason: usesTools(body) ? "tool_calls" : "stop",
    },
  ],
  usage,
});

function chatChunks(body: ModelRequest["body"]): object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: "chatcmpl_1",
    object: "chat.completion.chunk",
    created: 1,
    model: `${body.model}-2024-08-06`,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  const deltas = usesTools(body)
    ? toolCallDeltas()
    : toPieces(answerText).map((content) => ({ content }));
  return [
    chunk({ role: "assistant", content: usesTools(body) ? null : "", refusal: null }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, usesTools(body) ? "tool_calls" : "stop"),
    ...(body.stream_options?.include_usage === true ? [{ ...chunk({}), choices: [], usage }] : []),
  ];
}

/** The pieces of parallel calls, which take turns. */
function toolCallDeltas(): object[] {
  const callDeltas = toolCalls.map(({ id, type, function: { name, arguments: args } }, index) => [
    { tool_calls: [{ index, id, type, function: { name, arguments: "" } }] },
    ...toPieces(args).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
  const longest = Math.max(...callDeltas.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) =>
    callDeltas.flatMap((deltas) => deltas.slice(turn, turn + 1)),
  ).flat();
}

/** Pieces of three UTF-16 units, of which some end in the middle of a character. */
const toPieces = (text: string): string[] => text.match(/[^]{1,3}/g) ?? [];

const response = (body: ModelRequest["body"], status = "completed") => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  status,
  model: body.model,
  error: null,
  incomplete_details: null,
  instructions: null,
  output:
    status === "completed"
      ? [
          { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Thinking" }] },
          {
            id: "msg_1",
            type: "message",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: answerText, annotations: [], logprobs: [] }],
          },
        ]
      : [],
  parallel_tool_calls: true,
  tools: [],
  usage:
    status === "completed"
      ? {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 4 },
          output_tokens: 7,
          output_tokens_details: { reasoning_tokens: 2 },
          total_tokens: 18,
        }
      : null,
});

function responseEvents(body: ModelRequest["body"]): TypedEvent[] {
  const [reasoning, message] = response(body).output;
  const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
  const place = { item_id: "msg_1", output_index: 1, content_index: 0 };
  const events = [
    { type: "response.created", response: response(body, "in_progress") },
    { type: "response.in_progress", response: response(body, "in_progress") },
    { type: "response.output_item.added", output_index: 0, item: reasoning },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { ...message, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...place, part },
    ...toPieces(answerText).map((delta) => ({
      type: "response.output_text.delta",
      ...place,
      delta,
      logprobs: [],
    })),
    { type: "response.output_text.done", ...place, text: answerText, logprobs: [] },
    { type: "response.content_part.done", ...place, part: { ...part, text: answerText } },
    { type: "response.output_item.done", output_index: 1, item: message },
    { type: "response.completed", response: response(body) },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}
