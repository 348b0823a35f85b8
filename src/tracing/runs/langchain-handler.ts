import { microsToStamp, stampToIso } from "../../model/dotted-order.ts";
import type { KeyValues } from "../../model/run.ts";
import { clock } from "../../model/clock.ts";
import { formatError } from "../tape/error-text.ts";
import { runOf } from "./foreign-run.ts";
import { LangsmithBridge } from "./langsmith-bridge.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { RunTree } from "./run-tree.ts";
import { isObject } from "../tape/override-methods.ts";

/** The second argument of a LangChain runnable's `invoke`, `stream` and `batch`. */
export interface RunnableConfig {
  /** The LangChain callback handlers that receive the events of the runnable. */
  readonly callbacks: object[];
  readonly recursionLimit: number;
  readonly tags: string[];
  readonly metadata: Record<string, unknown>;
}

/**
 * Creates the config for a LangChain runnable whose runs should become children of `run`. It is needed only if `run` is
 * not the current run: LangChain finds the current run by itself.
 */
export const toRunnableConfig = (run: RunTree): RunnableConfig => ({
  callbacks: [new LangchainHandler(run)],
  recursionLimit: run.client[recorder].recursionLimit,
  tags: [...(run.tags ?? [])],
  metadata: { ...run.metadata },
});

/**
 * Number of remembered runs at which the ended ones are removed. Ended runs accumulate until then, because LangChain
 * does not report when a Millrace run ends.
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
export class LangchainHandler {
  readonly name = "langchain_tracer";
  /** Makes LangChain call the handlers immediately instead of from its background queue. */
  readonly awaitHandlers = true;
  readonly client: TracingClient;
  readonly projectName: string;
  readonly #root: LangsmithBridge;
  readonly #openBridges = new Map<string, LangsmithBridge>();
  readonly #onTruncation = (): void => this.client[recorder].truncated();

  constructor(run: RunTree) {
    this.client = run.client;
    this.projectName = run.projectName;
    this.#root = new LangsmithBridge(run, {});
  }

  copy(): this {
    return this;
  }

  getRun(id: string): LangsmithBridge | undefined {
    return id === this.#root.id ? this.#root : this.#openBridges.get(id);
  }

  getRunTreeWithTracingConfig(id: string): LangsmithBridge | undefined {
    return this.getRun(id);
  }

  /** LangChain calls this when a Millrace run is the current run of a nested call. */
  updateFromRunTree(tree: unknown): void {
    const run = runOf(tree);
    if (run === undefined) {
      return;
    }
    if (this.#openBridges.size >= removalThreshold) {
      this.#removeEnded();
    }
    this.#openBridges.set(run.id, new LangsmithBridge(run, {}));
  }

  /** @internal Number of remembered runs: open ones, and some that ended recently. */
  get rememberedRunCount(): number {
    return this.#openBridges.size;
  }

  #removeEnded(): void {
    for (const [id, bridge] of this.#openBridges) {
      if (runOf(bridge)?.endMicros !== undefined) {
        this.#openBridges.delete(id);
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
    this.#openBridges.get(runId)?.addEvent({ name: "new_token", kwargs: { token } });
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
    await this.#end(runId, {
      error: formatError(error, this.#onTruncation),
      inputs: readInputs(rest[2]),
    });
  }

  async handleLLMError(...[error, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { error: formatError(error, this.#onTruncation) });
  }

  async handleToolError(...[error, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { error: formatError(error, this.#onTruncation) });
  }

  async handleRetrieverError(...[error, runId]: EndArguments): Promise<void> {
    await this.#end(runId, { error: formatError(error, this.#onTruncation) });
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
    this.#openBridges.set(runId, run);
    // The inputs of a streaming run are known only at its end. The whole run is recorded then.
    if (!defersInputs(run)) {
      await run.postRun();
    }
  }

  async #end(
    runId: string,
    { outputs, error, inputs }: { outputs?: unknown; error?: string; inputs?: unknown },
  ): Promise<void> {
    const run = this.#openBridges.get(runId);
    if (run === undefined) {
      return;
    }
    this.#openBridges.delete(runId);
    run.inputs = inputs ?? run.inputs;
    run.outputs = outputs;
    run.error = error;
    run.end_time = stampToIso(microsToStamp(clock()));
    await (defersInputs(run) ? run.postRun() : run.patchRun());
  }
}

const defersInputs = (run: LangsmithBridge): boolean => run.extra["lc_defers_inputs"] === true;

const readInputs = (details: unknown): unknown => {
  const inputs = isObject(details) ? details["inputs"] : undefined;
  return inputs === undefined ? undefined : toObject(inputs, "input");
};

const toObject = (value: unknown, key: string): KeyValues =>
  isObject(value) && !Array.isArray(value) ? value : { [key]: value };

/** Returns the class name of a serialized runnable. */
const readClassName = (serialized: unknown): unknown => {
  const id = isObject(serialized) ? serialized["id"] : undefined;
  return Array.isArray(id) ? id.at(-1) : undefined;
};
