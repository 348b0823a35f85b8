import { toIso } from "millrace/model";
import { withoutUndefined } from "./json-value.ts";
import type { JsonObject } from "./json-value.ts";
import type { FinishReason, ModelAnswer } from "./model-answer.ts";
import type { ModelRequest } from "./model-request.ts";
import { createChatBody } from "./protocols/openai-chat.ts";

/** A model call that is to be stored as a run. */
export interface RecordedCall {
  /** The id of the run. */
  readonly id: string;
  readonly projectName: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly request: ModelRequest;
  readonly answer: ModelAnswer;
  readonly endpointName: string;
  /** The provider whose prices apply; `undefined` if the model's name decides. */
  readonly provider: string | undefined;
  readonly metadata?: JsonObject;
  /** Further members of the run, such as its parent, or the example that it belongs to. */
  readonly members?: JsonObject;
}

/**
 * Creates the run of a call, as the body of `POST /runs`. Inputs and outputs have the form of OpenAI's chat
 * completions, whatever the endpoint is. Most recorded calls have this form, and the UI shows it as a chat.
 */
export function createModelRun(call: RecordedCall): JsonObject {
  const { id, request, answer, startMs, provider } = call;
  const { model, settings = {} } = request;
  const toTime = (afterMs: number): string => toIso(Math.round((startMs + afterMs) * 1_000));
  return {
    id,
    name: call.name,
    run_type: "llm",
    session_name: call.projectName,
    start_time: toTime(0),
    end_time: toTime(answer.durationMs),
    inputs: createChatBody(request),
    outputs: createOutputs(answer),
    ...(answer.failure === undefined ? {} : { error: answer.failure.message }),
    ...(answer.firstTokenMs === undefined
      ? {}
      : { events: [{ name: "new_token", time: toTime(answer.firstTokenMs) }] }),
    extra: {
      metadata: withoutUndefined({
        ls_provider: provider,
        ls_model_type: "chat",
        ls_model_name: model,
        ls_temperature: settings.temperature,
        ls_max_tokens: settings.maxTokens,
        ls_stop: settings.stop,
        model_endpoint: call.endpointName,
        ...call.metadata,
      }),
    },
    ...call.members,
  };
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  length: "length",
  toolCalls: "tool_calls",
  filtered: "content_filter",
  other: "other",
};

function createOutputs(answer: ModelAnswer): JsonObject {
  const { text, thinking, toolCalls, finishReason, model, usage } = answer;
  const message = withoutUndefined({
    role: "assistant",
    content: text,
    reasoning_content: thinking === "" ? undefined : thinking,
    tool_calls:
      toolCalls.length === 0
        ? undefined
        : toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            type: "function",
            function: { name, arguments: args },
          })),
  });
  return withoutUndefined({
    model,
    choices: [
      withoutUndefined({
        index: 0,
        message,
        finish_reason: finishReason === undefined ? undefined : finishReasons[finishReason],
      }),
    ],
    usage_metadata:
      usage === undefined
        ? undefined
        : {
            input_tokens: usage.inputTokens,
            output_tokens: usage.outputTokens,
            total_tokens: usage.inputTokens + usage.outputTokens,
            input_token_details: {
              cache_read: usage.cacheRead,
              cache_creation: usage.cacheWrite,
            },
            output_token_details: { reasoning: usage.reasoning },
          },
  });
}
