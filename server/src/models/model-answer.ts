import type { ModelToolCall } from "./model-request.ts";

/** A part of an answer, as soon as it arrives. */
export type ModelDelta =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  /** The model begins to call a tool. `index` identifies the call among those of the answer. */
  | {
      readonly kind: "toolCall";
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly kind: "arguments"; readonly index: number; readonly text: string };

/** Why an answer ended: `other` for a reason that this server does not distinguish. */
export type FinishReason = "stop" | "length" | "toolCalls" | "filtered" | "other";

/** The tokens that a provider counted. The details are parts of the input or output tokens. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

/** Why there is no answer, or why it is incomplete. */
export type ModelFailureKind =
  /** The endpoint could not be reached, or exceeded a limit of the connection. */
  | "unreachable"
  /** The endpoint refused the request. */
  | "refused"
  /** The key is missing or wrong. */
  | "unauthorized"
  /** The endpoint accepts no more requests for now. */
  | "rateLimited"
  /** The endpoint failed. */
  | "failed"
  /** The response does not follow the protocol. */
  | "malformed"
  /** The answer is larger or took longer than allowed. */
  | "limit"
  /** The caller canceled the call. */
  | "canceled";

/** Why a model call failed. */
export interface ModelFailure {
  readonly kind: ModelFailureKind;
  /** What happened, without keys. */
  readonly message: string;
  /** The HTTP status, if the endpoint answered with an error. */
  readonly status?: number;
  /** How many seconds the endpoint asked to wait before it is called again. */
  readonly retryAfterSeconds?: number;
}

/** The result of a call. If the call failed, the other members contain what had arrived before. */
export interface ModelAnswer {
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly finishReason?: FinishReason;
  /** The model that answered, as the response names it. */
  readonly model?: string;
  readonly usage?: ModelUsage;
  /** Milliseconds from the start of the call to the first part of the answer, and to its end. */
  readonly firstTokenMs?: number;
  readonly durationMs: number;
  readonly failure?: ModelFailure;
}
