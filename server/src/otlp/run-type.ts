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

const typeAttributes: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["langsmith.span.kind", runTypesByName],
  ["openinference.span.kind", runTypesByOpenInferenceKind],
  ["gen_ai.operation.name", runTypesByOperation],
  ["traceloop.span.kind", { tool: "tool", workflow: "chain", task: "chain", agent: "chain" }],
  ["llm.request.type", runTypesByRequestType],
];

/** Returns the run type that a span's attributes indicate, otherwise `chain`. Removes no attribute. */
export function toRunType(bag: AttributeBag): string {
  for (const [name, types] of typeAttributes) {
    const value = bag.peekText(name)?.toLowerCase() ?? "";
    const type = Object.hasOwn(types, value) ? types[value] : undefined;
    if (type !== undefined) {
      return type;
    }
  }
  if (bag.peek("gen_ai.tool.name") !== undefined) {
    return "tool";
  }
  return bag.peek("gen_ai.request.model", "llm.model_name") === undefined ? "chain" : "llm";
}
