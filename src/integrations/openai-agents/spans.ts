/** A trace of `@openai/agents`. */
export interface AgentsTrace {
  readonly traceId: string;
  readonly name: string;
  /** The conversation that the trace belongs to. */
  readonly groupId: string | null;
  readonly metadata?: Record<string, unknown>;
}

/** A span of `@openai/agents`. Most of its data is set between its start and its end. */
export interface AgentsSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Id of the parent span; null if the span is directly below the trace. */
  readonly parentId: string | null;
  /** The span that was current before this one; set when this one becomes current. */
  readonly previousSpan?: AgentsSpan | undefined;
  readonly spanData: { readonly type: string };
  /** ISO time; null before the start. */
  readonly startedAt: string | null;
  /** ISO time; null before the end. */
  readonly endedAt: string | null;
  readonly error: { readonly message: string; readonly data?: Record<string, unknown> } | null;
}

/** An object with unknown members. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is an object, and not a list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Maximum number of previous spans that are searched for the parent of a span. Usually the first one is the parent. */
const maxPreviousSpans = 64;

/** Returns the parent of a span if it is among the spans that were current before it. */
export function findParentSpan(span: AgentsSpan): AgentsSpan | undefined {
  let previous = span.previousSpan;
  for (let count = 0; count < maxPreviousSpans && previous !== undefined; count += 1) {
    if (previous.spanId === span.parentId) {
      return previous;
    }
    previous = previous.previousSpan;
  }
  return undefined;
}

/** Whether a value from the Agents SDK's context is a span that has started and not ended. */
export const isOpenSpan = (value: unknown): value is AgentsSpan =>
  isFields(value) &&
  typeof value["spanId"] === "string" &&
  isFields(value["spanData"]) &&
  typeof value["startedAt"] === "string" &&
  value["endedAt"] === null;
