/* oxlint-disable typescript/no-unsafe-assignment, typescript/no-unsafe-member-access, typescript/no-unsafe-return -- values of the
   type any may be used so, which is what is tested here */
// Uses the types of langsmith as programs do. It is compiled with each package, and not run.
import {
  __version__,
  Client,
  getDefaultProjectName,
  isTracingEnabled,
  RunTree,
  uuid7,
} from "langsmith";
import type {
  ClientConfig,
  Dataset,
  Example,
  Feedback,
  LangSmithTracingClientInterface,
  RetrieverOutput,
  RunTreeConfig,
  TracerSession,
} from "langsmith";
import { createAnonymizer } from "langsmith/anonymizer";
import type { StringNodeRule } from "langsmith/anonymizer";
import { evaluate } from "langsmith/evaluation";
import type { EvaluateOptions, EvaluationResult, EvaluatorT } from "langsmith/evaluation";
import { wrapAISDK } from "langsmith/experimental/vercel";
import { getLangchainCallbacks } from "langsmith/langchain";
import { isRunnableConfigLike, isRunTree } from "langsmith/run_trees";
import type {
  Attachments,
  ExampleCreate,
  ExampleUpdate,
  FeedbackConfig,
  InvocationParamsSchema,
  KVMap,
  Prompt,
  PromptCommit,
  Run,
  RunCreate,
  RunUpdate,
  ScoreType,
} from "langsmith/schemas";
import { AsyncLocalStorageProviderSingleton } from "langsmith/singletons/traceable";
import { getCurrentRunTree, ROOT, traceable, withRunTree } from "langsmith/traceable";
import type { RunTreeLike, TraceableFunction } from "langsmith/traceable";
import { wrapOpenAI, wrapSDK } from "langsmith/wrappers";
import { wrapAnthropic } from "langsmith/wrappers/anthropic";
import { wrapGemini } from "langsmith/wrappers/gemini";
import { wrapOpenAI as wrapAgain } from "langsmith/wrappers/openai";

const rules: StringNodeRule[] = [{ pattern: /secret/g, replace: "***" }];
const config: ClientConfig = {
  apiUrl: "http://127.0.0.1:1984",
  apiKey: "none",
  timeout_ms: 1_000,
  anonymizer: createAnonymizer(rules, { maxDepth: 5 }),
  hideInputs: (inputs: KVMap) => ({ ...inputs, key: undefined }),
  hideOutputs: true,
  autoBatchTracing: true,
  tracingSamplingRate: 0.5,
  callerOptions: { maxRetries: 2 },
};
export const client: LangSmithTracingClientInterface & Client = new Client(config);
export const name: string = `${__version__} ${uuid7()} ${getDefaultProjectName()} ${isTracingEnabled()}`;

const treeConfig: RunTreeConfig = { name: "types", run_type: "chain", inputs: {}, client };
export const tree: RunTreeLike = new RunTree(treeConfig);
export const attachments: Attachments = { file: ["text/plain", new Uint8Array()] };
export const documents: RetrieverOutput = [{ page_content: "text", type: "Document" }];
export const parameters: InvocationParamsSchema = { ls_model_type: "chat", ls_temperature: 1 };

/** Overloads, a run as the first argument, and streams keep their types. */
const add = traceable((left: number, right: number) => left + right, { name: "add" });
export const sum: Promise<number> = add(1, 2);
export const root: Promise<number> = add(ROOT, 1, 2);
export const below: Promise<number> = add(tree, 1, 2);
const count = traceable(async function* count(limit: number) {
  yield limit;
});
export const counted: AsyncGenerator<number> = count(3);
const parse: TraceableFunction<(text: string) => Promise<{ words: string[] }>> = traceable(
  async (text: string) => ({ words: text.split(" ") }),
  {
    processInputs: (inputs) => ({ length: inputs.input.length }),
    processOutputs: ({ words }) => ({ words }),
  },
);
export const parsed: Promise<{ words: string[] }> = parse("a b");
export const entered: Promise<number> = withRunTree(
  tree,
  async () => getCurrentRunTree().start_time,
);

/** What is read may be used without narrowing. */
export async function read(): Promise<unknown[]> {
  const project: TracerSession = await client.readProject({ projectName: "p" });
  const dataset: Dataset = await client.readDataset({ datasetName: "d" });
  const example: Example = await client.createExample(
    { q: 1 },
    { a: 2 },
    { datasetId: dataset.id },
  );
  const created: ExampleCreate[] = [{ inputs: { q: 1 }, dataset_id: dataset.id, split: "test" }];
  const examples: Example[] = await client.createExamples(created);
  const update: ExampleUpdate = { id: example.id, metadata: { checked: true } };
  await client.updateExample(update);
  await client.updateExample(example.id, { outputs: { a: 3 } });
  const feedbackConfig: FeedbackConfig = { type: "continuous", min: 0, max: 1 };
  const score: ScoreType = 0.5;
  const feedback: Feedback = await client.createFeedback("run", "key", { score, feedbackConfig });
  const run: Run = await client.readRun("run", { loadChildRuns: true });
  const answer: string = run.outputs?.["messages"][0].content;
  const runs: RunCreate[] = [{ name: "r", run_type: "llm", inputs: {} }];
  const changes: RunUpdate = { outputs: { a: 1 }, end_time: Date.now() };
  await client.batchIngestRuns({ runCreates: runs });
  await client.updateRun("run", changes);
  for await (const item of client.listRuns({ projectName: "p", isRoot: true, limit: 3 })) {
    console.log(item.total_tokens, item.extra?.["metadata"]?.plan);
  }
  const commit: PromptCommit = await client.pullPromptCommit("prompt");
  const prompt: Prompt | null = await client.getPrompt("prompt");
  return [
    project.name,
    examples,
    feedback.comment,
    answer,
    commit.manifest["kwargs"].template,
    prompt,
  ];
}

export const judge: EvaluatorT = async (args: {
  outputs: Record<string, unknown>;
  referenceOutputs?: Record<string, unknown>;
}): Promise<EvaluationResult> => ({
  key: "same",
  score: args.outputs["answer"] === args.referenceOutputs?.["answer"],
});
export const options: EvaluateOptions = { data: "d", evaluators: [judge], maxConcurrency: 4 };
export const evaluated = async () => {
  const results = await evaluate(async (inputs: { q: string }) => ({ answer: inputs.q }), options);
  return results.results.map(({ run, example, evaluationResults }) => [
    run.id,
    example.inputs["q"],
    evaluationResults.results[0]?.score,
  ]);
};

interface Completions {
  create(body: object, options?: object): Promise<{ text: string }>;
}
const openai = { chat: { completions: {} as Completions }, completions: {} as Completions };
export const wrapped = [wrapOpenAI(openai).chat, wrapAgain(openai).completions, wrapSDK(openai)];
export const anthropic = wrapAnthropic({
  messages: { create: async () => ({}), stream: () => ({}) },
}).messages;
export const gemini = wrapGemini({
  models: { generateContent: async () => ({}), generateContentStream: async () => ({}) },
}).models;
export const callbacks = getLangchainCallbacks(tree);
export const checks = [
  isRunTree(tree),
  isRunnableConfigLike({}),
  wrapAISDK,
  AsyncLocalStorageProviderSingleton.getInstance().getStore() === undefined,
];
