import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { ApiError, callJson, getJson, streamEvents } from "../../api/http.ts";
import {
  omitUndefined,
  requireItems,
  requireText,
  toNumber,
  toRecord,
  toText,
} from "../../api/parse.ts";
import { createModelHeaders } from "../../api/model-session.ts";
import type { CallSource, RequestDraft } from "./playground-request.ts";

/** Sends an API key for an endpoint to the server, which holds the key in memory for this tab. */
export const setModelKey = async (name: string, key: string): Promise<unknown> =>
  callJson(toEndpointPath("/ui/models/:name/key", { name }), {
    method: "PUT",
    headers: createModelHeaders(),
    body: { key },
  });

export const deleteModelKey = async (name: string): Promise<unknown> =>
  callJson(toEndpointPath("/ui/models/:name/key", { name }), {
    method: "DELETE",
    headers: createModelHeaders(),
  });

/** The id of the project in which calls are recorded. */
export const playgroundProjectQuery = queryOptions({
  queryKey: ["playground-project"],
  queryFn: async ({ signal }): Promise<string> => {
    const path = `${toEndpointPath("/sessions")}?name=playground&limit=1`;
    const [project] = requireItems(await getJson(path, signal), "projects");
    return requireText(toRecord(project), "id");
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** An event in the stream of an answer: a part of its content, or its end. */
export type AnswerEvent =
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | {
      readonly kind: "toolCall";
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly kind: "arguments"; readonly index: number; readonly text: string }
  | { readonly kind: "end"; readonly end: AnswerEnd };

/** What the server reports at the end of an answer. */
export interface AnswerEnd {
  readonly failure?: string;
  readonly retryAfterSeconds?: number;
  readonly finishReason?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** In US dollars. */
  readonly cost?: number;
  /** Why the cost is unknown. */
  readonly costReason?: string;
  readonly firstTokenMs?: number;
  readonly durationMs?: number;
  /** The run in which the call was recorded. */
  readonly runId?: string;
  /** The trace of that run. */
  readonly traceId?: string;
  /** Why the call could not be recorded. */
  readonly recordError?: string;
}

export interface CallBody {
  readonly endpoint: string;
  readonly request: RequestDraft & { readonly model: string };
  /** Whether the server records the call as a run. */
  readonly record: boolean;
  readonly source?: CallSource;
}

/** Calls a model, and yields its answer as it arrives. @throws {@link ApiError} */
export async function* streamAnswer(
  body: CallBody,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void, undefined> {
  let hasEnded = false;
  const events = streamEvents(toEndpointPath("/ui/models/calls"), signal, {
    method: "POST",
    headers: createModelHeaders(),
    body,
  });
  for await (const { name, data } of events) {
    const event = toRecord(JSON.parse(data));
    if (name === "end") {
      hasEnded = true;
      yield { kind: "end", end: parseEnd(event) };
    } else {
      const delta = parseDelta(event);
      if (delta !== undefined) {
        yield delta;
      }
    }
  }
  if (!hasEnded) {
    throw new ApiError(0, "The server ended the answer before it was complete.");
  }
}

function parseDelta(event: Readonly<Record<string, unknown>>): AnswerEvent | undefined {
  const text = toText(event["text"]) ?? "";
  const index = toNumber(event["index"]) ?? 0;
  switch (event["kind"]) {
    case "text":
    case "thinking":
      return { kind: event["kind"], text };
    case "arguments":
      return { kind: "arguments", index, text };
    case "toolCall":
      return {
        kind: "toolCall",
        index,
        id: toText(event["id"]) ?? "",
        name: toText(event["name"]) ?? "",
      };
    default:
      return undefined;
  }
}

function parseEnd(end: Readonly<Record<string, unknown>>): AnswerEnd {
  const [failure, usage, cost] = [end["failure"], end["usage"], end["cost"]].map(toRecord);
  return omitUndefined({
    failure: toText(failure?.["message"]),
    retryAfterSeconds: toNumber(failure?.["retryAfterSeconds"]),
    finishReason: toText(end["finishReason"]),
    inputTokens: toNumber(usage?.["inputTokens"]),
    outputTokens: toNumber(usage?.["outputTokens"]),
    cost: toNumber(cost?.["total"]),
    costReason: toText(cost?.["reason"]),
    firstTokenMs: toNumber(end["firstTokenMs"]),
    durationMs: toNumber(end["durationMs"]),
    runId: toText(end["runId"]),
    traceId: toText(end["traceId"]),
    recordError: toText(end["recordError"]),
  });
}
