import type { KeyValues } from "../../main/index.ts";
import { readNumber, readText, withoutUndefined } from "./values.ts";

/** The model of a call, and the settings with which it was called. */
export interface ModelSettings {
  readonly provider: unknown;
  readonly model: unknown;
  readonly temperature?: unknown;
  readonly maxTokens?: unknown;
  readonly stop?: unknown;
}

/**
 * Returns the metadata of a model call's run, with the keys that the server and its UI read. The name of the provider
 * is the part before the first dot, because the AI SDK appends the kind of API, as in `anthropic.messages`.
 */
export const toModelMetadata = (
  { provider, model, temperature, maxTokens, stop }: ModelSettings,
  modelType: "chat" | "embedding" | undefined,
): KeyValues =>
  withoutUndefined({
    ls_provider: readText(provider)?.split(".")[0],
    ls_model_name: readText(model),
    ls_model_type: modelType,
    ls_temperature: readNumber(temperature),
    ls_max_tokens: readNumber(maxTokens),
    ls_stop: Array.isArray(stop) ? stop : undefined,
  });

/** Metadata keys with which programs pass the ids of a conversation and of a user to the AI SDK. */
const [threadNames, userNames] = [
  ["threadId", "thread_id", "conversationId", "sessionId", "session_id"],
  ["userId", "user_id"],
] as const;

/** Converts the program's own metadata, and adds the ids by which runs are grouped. */
export function toProgramMetadata(metadata: KeyValues): KeyValues {
  const readId = (names: readonly string[]): string | undefined =>
    names.map((name) => readText(metadata[name])).find((id) => id !== undefined);
  return withoutUndefined({
    ...metadata,
    thread_id: readId(threadNames),
    user_id: readId(userNames),
  });
}

/** Returns the name of an operation's run: the operation, and the call's `functionId` if the program passed one. */
export const toOperationName = (operation: string, functionId: unknown): string =>
  readText(functionId) === undefined ? operation : `${operation} ${String(functionId)}`;

/** Describes vectors by their number and size, because the numbers themselves say little and are large. */
export function describeVectors(value: unknown): KeyValues {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const vectors: readonly unknown[] = Array.isArray(list[0]) ? list : [list];
  const [first] = vectors;
  return {
    embeddings: list.length === 0 ? 0 : vectors.length,
    dimensions: Array.isArray(first) ? first.length : 0,
  };
}
