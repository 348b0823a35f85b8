import type { RunTree } from "../../main/index.ts";
import { toRun, toRunTree } from "./run-trees.ts";
import type { LangsmithRunTree } from "./run-trees.ts";

/**
 * Number of remembered runs at which the runs that have ended are removed. Until then they accumulate, because
 * LangChain does not report the end of a Millrace run.
 */
const removalThreshold = 256;

/** The arguments with which LangChain calls a start callback. */
type StartArguments = readonly [
  serialized: unknown,
  inputs: unknown,
  runId: string,
  parentRunId?: string,
  ...rest: readonly unknown[],
];
/** The arguments with which LangChain calls an end callback. */
type EndArguments = readonly [result: unknown, runId: string, ...rest: readonly unknown[]];

/** Details of a start callback, in the same form for all kinds of runs. */
interface StartDetails {
  readonly runType: unknown;
  readonly inputs: unknown;
  readonly tags: unknown;
  readonly metadata: unknown;
  readonly name: unknown;
  readonly extra?: unknown;
}

/**
 * Receives LangChain's callbacks for the runs below a Millrace run. It has the name of LangChain's own tracer, so that
 * LangChain does not add that tracer. It also has the members that LangChain expects of a tracer with this name.
 */
export class RunHandler {
  readonly name = "langchain_tracer";
  /** Makes LangChain call the handlers immediately instead of from its background queue. */
  readonly awaitHandlers = true;
  readonly client: RunTree["client"];
  readonly projectName: string;
  readonly #root: LangsmithRunTree;
  readonly #openTrees = new Map<string, LangsmithRunTree>();

  constructor(run: RunTree) {
    this.client = run.client;
    this.projectName = run.projectName;
    this.#root = toRunTree(run);
  }

  copy(): this {
    return this;
  }

  getRun(id: string): LangsmithRunTree | undefined {
    return id === this.#root.id ? this.#root : this.#openTrees.get(id);
  }

  getRunTreeWithTracingConfig(id: string): LangsmithRunTree | undefined {
    return this.getRun(id);
  }

  /** LangChain calls this when a Millrace run is the current run of a nested call. */
  updateFromRunTree(tree: unknown): void {
    const run = toRun(tree);
    if (run === undefined) {
      return;
    }
    if (this.#openTrees.size >= removalThreshold) {
      this.#removeEnded();
    }
    this.#openTrees.set(run.id, toRunTree(run));
  }

  /** @internal Number of remembered runs: open ones, and some that ended recently. */
  get rememberedRunCount(): number {
    return this.#openTrees.size;
  }

  #removeEnded(): void {
    for (const [id, openTree] of this.#openTrees) {
      if (toRun(openTree)?.endedAt !== undefined) {
        this.#openTrees.delete(id);
      }
    }
  }

  async handleChainStart(
    ...[serialized, inputs, runId, parentRunId, ...rest]: StartArguments
  ): Promise<void> {
    const [tags, metadata, runType, name, extra] = rest;
    const details = { runType, inputs, tags, metadata, name, extra };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleLLMStart(
    ...[serialized, prompts, runId, parentRunId, ...rest]: StartArguments
  ): Promise<void> {
    const [extra, tags, metadata, name] = rest;
    const details = { runType: "llm", inputs: { prompts }, tags, metadata, name, extra };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleChatModelStart(
    ...[serialized, messages, runId, parentRunId, ...rest]: StartArguments
  ): Promise<void> {
    const [extra, tags, metadata, name] = rest;
    const details = { runType: "llm", inputs: { messages }, tags, metadata, name, extra };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleToolStart(
    ...[serialized, input, runId, parentRunId, ...rest]: StartArguments
  ): Promise<void> {
    const [tags, metadata, name] = rest;
    const details = { runType: "tool", inputs: { input }, tags, metadata, name };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleRetrieverStart(
    ...[serialized, query, runId, parentRunId, ...rest]: StartArguments
  ): Promise<void> {
    const [tags, metadata, name] = rest;
    const details = { runType: "retriever", inputs: { query }, tags, metadata, name };
    await this.#start([serialized, runId, parentRunId], details);
  }

  handleLLMNewToken(...[token, _index, runId]: readonly [unknown, unknown, string]): void {
    this.#openTrees.get(runId)?.addEvent({ name: "new_token", kwargs: { token } });
  }

  async handleChainEnd(...[outputs, runId, ...rest]: EndArguments): Promise<void> {
    await this.#end(runId, { outputs: toObject(outputs, "output"), inputs: readInputs(rest[2]) });
  }

  async handleLLMEnd(...[outputs, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { outputs });
  }

  async handleToolEnd(...[output, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { outputs: { output } });
  }

  async handleRetrieverEnd(...[documents, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { outputs: { documents } });
  }

  async handleChainError(...[error, runId, ...rest]: EndArguments): Promise<void> {
    await this.#end(runId, { error, inputs: readInputs(rest[2]) });
  }

  async handleLLMError(...[error, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { error });
  }

  async handleToolError(...[error, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { error });
  }

  async handleRetrieverError(...[error, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { error });
  }

  async #start(
    [serialized, runId, parentRunId]: readonly [unknown, string, string | undefined],
    { runType, name, ...details }: StartDetails,
  ): Promise<void> {
    const parent = (parentRunId === undefined ? undefined : this.getRun(parentRunId)) ?? this.#root;
    const run = parent.createChild({
      ...details,
      id: runId,
      name: name ?? readClassName(serialized),
      run_type: runType,
      serialized,
    });
    this.#openTrees.set(runId, run);
    // The inputs of a streaming run are known only at its end. Such a run is recorded as a whole at its end.
    if (!defersInputs(run)) {
      await run.postRun();
    }
  }

  async #end(
    runId: string,
    { outputs, error, inputs }: { outputs?: unknown; error?: unknown; inputs?: unknown },
  ): Promise<void> {
    const run = this.#openTrees.get(runId);
    if (run === undefined) {
      return;
    }
    this.#openTrees.delete(runId);
    run.inputs = inputs ?? run.inputs;
    await run.end(outputs, error);
    await (defersInputs(run) ? run.postRun() : run.patchRun());
  }
}

const defersInputs = (run: LangsmithRunTree): boolean => run.extra["lc_defers_inputs"] === true;

const readInputs = (details: unknown): unknown => {
  const inputs = isObject(details) ? details["inputs"] : undefined;
  return inputs === undefined ? undefined : toObject(inputs, "input");
};

const toObject = (value: unknown, key: string): object =>
  isObject(value) && !Array.isArray(value) ? value : { [key]: value };

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Returns the class name of a serialized runnable. */
const readClassName = (serialized: unknown): unknown => {
  const id = isObject(serialized) ? serialized["id"] : undefined;
  return Array.isArray(id) ? id.at(-1) : undefined;
};
