import type { AttributeBag } from "./attribute-bag.ts";

const runTypes = ["tool", "chain", "llm", "retriever", "embedding", "prompt", "parser"];

const sameNames: Readonly<Record<string, string>> = Object.fromEntries(
  runTypes.map((type) => [type, type]),
);

/** Run types by `gen_ai.operation.name`. */
const operations: Readonly<Record<string, string>> = {
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

/** Run types by `openinference.span.kind`. */
const openInferenceKinds: Readonly<Record<string, string>> = {
  ...sameNames,
  agent: "chain",
  reranker: "retriever",
  guardrail: "chain",
  evaluator: "chain",
};

/** Run types by `llm.request.type` of OpenLLMetry. */
const requestTypes: Readonly<Record<string, string>> = {
  chat: "llm",
  completion: "llm",
  embedding: "embedding",
  rerank: "retriever",
};

const sources: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["langsmith.span.kind", sameNames],
  ["openinference.span.kind", openInferenceKinds],
  ["gen_ai.operation.name", operations],
  ["traceloop.span.kind", { tool: "tool", workflow: "chain", task: "chain", agent: "chain" }],
  ["llm.request.type", requestTypes],
];

/** The run type that a span's attributes indicate, else `chain`. The attributes stay in the bag. */
export function toRunType(bag: AttributeBag): string {
  for (const [name, types] of sources) {
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
