import type { Any } from "../any.ts";

/**
 * The members of a LangChain config that are used here: the callbacks lead to the current run, which gets the tags and
 * the metadata.
 */
export interface RunnableConfigLike {
  tags?: string[];
  metadata?: Record<string, unknown>;
  callbacks?: Record<string, Any> | Any[];
}

/** The members of LangChain's tracer that are used here. */
export interface TracerLike {
  readonly name: "langchain_tracer";
  readonly projectName?: string;
  readonly client?: unknown;
  getRun?(id: string): unknown;
  updateFromRunTree?(run: unknown): void;
}

/** The members of LangChain's callback manager that are used here. */
export interface CallbackManagerLike {
  readonly handlers: readonly unknown[];
  copy?(): CallbackManagerLike;
  getParentRunId?(): string | undefined;
}

const isObject = (value: unknown): value is Record<PropertyKey, unknown> =>
  typeof value === "object" && value !== null;

const isTracer = (value: unknown): value is TracerLike =>
  isObject(value) && value["name"] === "langchain_tracer";

/** Whether a value is a callback manager of LangChain. */
export const isCallbackManager = (value: unknown): value is CallbackManagerLike =>
  isObject(value) && Array.isArray(value["handlers"]);

/** Returns LangChain's tracer among the callbacks of a config. */
export function findTracer(callbacks: unknown): TracerLike | undefined {
  const handlers: readonly unknown[] = isCallbackManager(callbacks)
    ? callbacks.handlers
    : [callbacks ?? []].flat();
  return handlers.find(isTracer);
}

/** Whether a value is a config of LangChain that contains LangChain's tracer. */
export const isRunnableConfigLike = (x?: unknown): x is RunnableConfigLike =>
  isObject(x) && findTracer(x["callbacks"]) !== undefined;
