import { toNamedEvents } from "./fake-model-api.ts";
import type { ModelReply, ModelRequest, TypedEvent } from "./fake-model-api.ts";

/** The text of the answers, with characters of several bytes. */
export const messageText = "Grüße 🐎, und so weiter";

const usage = {
  input_tokens: 10,
  cache_creation_input_tokens: 200,
  cache_read_input_tokens: 3_000,
  output_tokens: 1,
};

/** Answers a request as Anthropic's API does. The name of the model says what to do instead. */
export function replyAsAnthropic({ body }: ModelRequest): ModelReply | undefined {
  switch (body.model) {
    case "hangs":
      return undefined;
    case "overloaded":
      return {
        status: 529,
        body: {
          type: "error",
          error: { type: "overloaded_error", message: "Overloaded" },
          request_id: "req_1",
        },
      };
    default:
      break;
  }
  if (body.stream !== true) {
    return { body: message(body) };
  }
  const events = messageEvents(body);
  if (body.model === "slow") {
    return { body: toNamedEvents(events.slice(0, events.length / 2)), isHeld: true };
  }
  if (body.model === "breaks") {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    return { body: toNamedEvents([...events.slice(0, events.length / 2), error]) };
  }
  return { body: toNamedEvents(events) };
}

const usesTools = ({ tools = [], messages = [] }: ModelRequest["body"]): boolean =>
  tools.length > 0 && !JSON.stringify(messages).includes("tool_result");

const content = (body: ModelRequest["body"]): readonly object[] => [
  { type: "thinking", thinking: "Let me see", signature: "c2ln" },
  { type: "text", text: messageText },
  ...(usesTools(body)
    ? [
        { type: "tool_use", id: "toolu_1", name: "look", input: { at: "Zürich", days: 2 } },
        { type: "tool_use", id: "toolu_2", name: "look", input: { at: "Bern", days: 1 } },
      ]
    : []),
];

const message = (body: ModelRequest["body"]) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: body.model,
  content: content(body),
  stop_reason: usesTools(body) ? "tool_use" : "end_turn",
  stop_sequence: null,
  usage: { ...usage, output_tokens: 40 },
});

function messageEvents(body: ModelRequest["body"]): TypedEvent[] {
  const { content: blocks, stop_reason, stop_sequence, ...whole } = message(body);
  return [
    {
      type: "message_start",
      message: { ...whole, content: [], stop_reason: null, stop_sequence, usage },
    },
    { type: "ping" },
    ...blocks.flatMap((block, index) => blockEvents(block, index)),
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage: { output_tokens: 40 } },
    { type: "message_stop" },
  ];
}

function blockEvents(block: object, index: number): TypedEvent[] {
  const delta = (value: object) => ({ type: "content_block_delta", index, delta: value });
  const events = (empty: object, deltas: readonly object[]) => [
    { type: "content_block_start", index, content_block: { ...block, ...empty } },
    ...deltas.map(delta),
    { type: "content_block_stop", index },
  ];
  if ("thinking" in block) {
    return events({ thinking: "", signature: "" }, [
      ...toPieces(String(block.thinking)).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: "c2ln" },
    ]);
  }
  if ("text" in block) {
    return events(
      { text: "" },
      toPieces(String(block.text)).map((text) => ({ type: "text_delta", text })),
    );
  }
  const json = JSON.stringify("input" in block ? block.input : {});
  return events(
    { input: {} },
    toPieces(json).map((partial_json) => ({ type: "input_json_delta", partial_json })),
  );
}

/** Pieces of three UTF-16 units, of which some end in the middle of a character. */
const toPieces = (text: string): string[] => text.match(/[^]{1,3}/g) ?? [];
