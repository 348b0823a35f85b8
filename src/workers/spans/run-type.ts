import { toAiRunType } from "./ai-sdk.ts";
import type { AttributeBag } from "./attribute-bag.ts";

const runTypes = ["tool", "chain", "llm", "retriever", "embedding", "prompt", "parser"];

const runTypesByName: Readonly<Record<string, string>> = Object.fromEntries(
  runTypes.map((type) => [type, type]),
);

/** Run types by the attribute `gen_ai.operation.name`. */
const runTypesByOperation: Readonly<Record<string, string>> = {
  chat: "llm",
  completion: "llm",
  text_completion: "llm",
  generate_content: "llm",
  embedding: "embedding",
  embeddings: "embedding",
  execute_tool: "tool",
  retrieval: "retriever",
  create_agent: "chain",
  invoke_agent: "chain",
  invoke_workflow: "chain",
};

/** Run types by the attribute `openinference.span.kind`. */
const runTypesByOpenInferenceKind: Readonly<Record<string, string>> = {
  ...runTypesByName,
  agent: "chain",
  reranker: "retriever",
  guardrail: "chain",
  evaluator: "chain",
};

/** Run types by the attribute `llm.request.type` of OpenLLMetry. */
const runTypesByRequestType: Readonly<Record<string, string>> = {
  chat: "llm",
  completion: "llm",
  embedding: "embedding",
  rerank: "retriever",
};

type TypeAttributes = readonly (readonly [string, Readonly<Record<string, string>>])[];

/** Attributes that state the type of a span directly. They take precedence over the AI SDK's operations. */
const kindAttributes: TypeAttributes = [
  ["langsmith.span.kind", runTypesByName],
  ["openinference.span.kind", runTypesByOpenInferenceKind],
];

const operationAttributes: TypeAttributes = [
  ["gen_ai.operation.name", runTypesByOperation],
  ["traceloop.span.kind", { tool: "tool", workflow: "chain", task: "chain", agent: "chain" }],
  ["llm.request.type", runTypesByRequestType],
];

/**
 * Attribute of a request to an API. Anthropic's SDK also names a model in requests that do not call it, such as
 * counting the tokens of a prompt. Of its spans, only model calls have an operation name.
 */
const apiRoute = "http.route";

/** Returns the run type that a span's attributes indicate, otherwise `chain`. Removes no attribute. */
export function toRunType(bag: AttributeBag): string {
  const type =
    findType(bag, kindAttributes) ?? toAiRunType(bag) ?? findType(bag, operationAttributes);
  if (type !== undefined) {
    return type;
  }
  if (bag.peek("gen_ai.tool.name") !== undefined) {
    return "tool";
  }
  const hasModel = bag.peek("gen_ai.request.model", "llm.model_name") !== undefined;
  return hasModel && bag.peek(apiRoute) === undefined ? "llm" : "chain";
}

function findType(bag: AttributeBag, attributes: TypeAttributes): string | undefined {
  for (const [name, types] of attributes) {
    const value = bag.peekText(name)?.toLowerCase() ?? "";
    const type = Object.hasOwn(types, value) ? types[value] : undefined;
    if (type !== undefined) {
      return type;
    }
  }
  return undefined;
}
