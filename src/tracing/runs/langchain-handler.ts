import { microsToStamp, stampToIso } from "../../model/dotted-order.ts";
import type { KeyValues } from "../../model/run.ts";
import { clock } from "../../model/clock.ts";
import { errorText } from "../tape/error-text.ts";
import { runOf } from "./foreign-run.ts";
import { LangsmithBridge } from "./langsmith-bridge.ts";
import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";
import type { RunTree } from "./run-tree.ts";
import { isObject } from "../tape/placeholder.ts";

/** The second argument of a LangChain runnable's `invoke`, `stream` and `batch`. */
export interface RunnableConfig {
  /** Handlers as LangChain calls them. */
  readonly callbacks: object[];
  readonly recursionLimit: number;
  readonly tags: string[];
  readonly metadata: Record<string, unknown>;
}

/**
 * Turns a run into the config of a LangChain runnable whose runs are to nest below it. It is
 * needed only where the run is not the current one: inside of it LangChain nests by itself.
 */
export const toRunnableConfig = (run: RunTree): RunnableConfig => ({
  callbacks: [new LangchainHandler(run)],
  recursionLimit: run.client[recorder].recursionLimit,
  tags: [...(run.tags ?? [])],
  metadata: { ...run.metadata },
});

/** LangChain does not say when a run of ours ends: beyond this many they are looked through. */
const sweepSize = 256;

type Started = readonly [
  serialized: unknown,
  inputs: unknown,
  runId: string,
  parentRunId?: string,
  ...rest: readonly unknown[],
];
type Ended = readonly [result: unknown, runId: string, ...rest: readonly unknown[]];

/** What of a start tells more than the thing that runs and its inputs. */
interface StartDetails {
  readonly runType: unknown;
  readonly inputs: unknown;
  readonly tags: unknown;
  readonly metadata: unknown;
  readonly name: unknown;
  readonly extra?: unknown;
}

/**
 * Receives LangChain's callbacks for the runs below one of ours. It has the name of LangChain's own tracer, so that
 * LangChain does not add that one, and the members that LangChain expects of a tracer of this name.
 */
export class LangchainHandler {
  readonly name = "langchain_tracer";
  /** Callbacks are taken at the call, not in LangChain's background queue. */
  readonly awaitHandlers = true;
  readonly client: TracingClient;
  readonly projectName: string;
  readonly #root: LangsmithBridge;
  readonly #open = new Map<string, LangsmithBridge>();
  readonly #onCut = (): void => this.client[recorder].truncated();

  constructor(run: RunTree) {
    this.client = run.client;
    this.projectName = run.projectName;
    this.#root = new LangsmithBridge(run, {});
  }

  copy(): this {
    return this;
  }

  getRun(id: string): LangsmithBridge | undefined {
    return id === this.#root.id ? this.#root : this.#open.get(id);
  }

  getRunTreeWithTracingConfig(id: string): LangsmithBridge | undefined {
    return this.getRun(id);
  }

  /** A run of ours that became current among LangChain's. */
  updateFromRunTree(tree: unknown): void {
    const run = runOf(tree);
    if (run === undefined) {
      return;
    }
    if (this.#open.size >= sweepSize) {
      this.#sweep();
    }
    this.#open.set(run.id, new LangsmithBridge(run, {}));
  }

  /** @internal Runs that are remembered: those under way, and some that ended of late. */
  get openRuns(): number {
    return this.#open.size;
  }

  #sweep(): void {
    for (const [id, bridge] of this.#open) {
      if (runOf(bridge)?.endMicros !== undefined) {
        this.#open.delete(id);
      }
    }
  }

  async handleChainStart(
    ...[serialized, inputs, runId, parentRunId, ...rest]: Started
  ): Promise<void> {
    const [tags, metadata, runType, name, extra] = rest;
    const details = { runType, inputs, tags, metadata, name, extra };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleLLMStart(
    ...[serialized, prompts, runId, parentRunId, ...rest]: Started
  ): Promise<void> {
    const [extra, tags, metadata, name] = rest;
    const details = { runType: "llm", inputs: { prompts }, tags, metadata, name, extra };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleChatModelStart(
    ...[serialized, messages, runId, parentRunId, ...rest]: Started
  ): Promise<void> {
    const [extra, tags, metadata, name] = rest;
    const details = { runType: "llm", inputs: { messages }, tags, metadata, name, extra };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleToolStart(
    ...[serialized, input, runId, parentRunId, ...rest]: Started
  ): Promise<void> {
    const [tags, metadata, name] = rest;
    const details = { runType: "tool", inputs: { input }, tags, metadata, name };
    await this.#start([serialized, runId, parentRunId], details);
  }

  async handleRetrieverStart(
    ...[serialized, query, runId, parentRunId, ...rest]: Started
  ): Promise<void> {
    const [tags, metadata, name] = rest;
    const details = { runType: "retriever", inputs: { query }, tags, metadata, name };
    await this.#start([serialized, runId, parentRunId], details);
  }

  handleLLMNewToken(...[token, _index, runId]: readonly [unknown, unknown, string]): void {
    this.#open.get(runId)?.addEvent({ name: "new_token", kwargs: { token } });
  }

  async handleChainEnd(...[outputs, runId, ...rest]: Ended): Promise<void> {
    await this.#end(runId, { outputs: toObject(outputs, "output"), inputs: inputsOf(rest[2]) });
  }

  async handleLLMEnd(...[outputs, runId]: Ended): Promise<void> {
    await this.#end(runId, { outputs });
  }

  async handleToolEnd(...[output, runId]: Ended): Promise<void> {
    await this.#end(runId, { outputs: { output } });
  }

  async handleRetrieverEnd(...[documents, runId]: Ended): Promise<void> {
    await this.#end(runId, { outputs: { documents } });
  }

  async handleChainError(...[error, runId, ...rest]: Ended): Promise<void> {
    await this.#end(runId, { error: errorText(error, this.#onCut), inputs: inputsOf(rest[2]) });
  }

  async handleLLMError(...[error, runId]: Ended): Promise<void> {
    await this.#end(runId, { error: errorText(error, this.#onCut) });
  }

  async handleToolError(...[error, runId]: Ended): Promise<void> {
    await this.#end(runId, { error: errorText(error, this.#onCut) });
  }

  async handleRetrieverError(...[error, runId]: Ended): Promise<void> {
    await this.#end(runId, { error: errorText(error, this.#onCut) });
  }

  async #start(
    [serialized, runId, parentRunId]: readonly [unknown, string, string | undefined],
    { runType, name, ...details }: StartDetails,
  ): Promise<void> {
    const parent = (parentRunId === undefined ? undefined : this.getRun(parentRunId)) ?? this.#root;
    const run = parent.createChild({
      ...details,
      id: runId,
      name: name ?? lastOf(serialized),
      run_type: runType,
      serialized,
    });
    this.#open.set(runId, run);
    // A stream's inputs are known at its end only, and then the whole run is recorded.
    if (!defersInputs(run)) {
      await run.postRun();
    }
  }

  async #end(
    runId: string,
    { outputs, error, inputs }: { outputs?: unknown; error?: string; inputs?: unknown },
  ): Promise<void> {
    const run = this.#open.get(runId);
    if (run === undefined) {
      return;
    }
    this.#open.delete(runId);
    run.inputs = inputs ?? run.inputs;
    run.outputs = outputs;
    run.error = error;
    run.end_time = stampToIso(microsToStamp(clock()));
    await (defersInputs(run) ? run.postRun() : run.patchRun());
  }
}

const defersInputs = (run: LangsmithBridge): boolean => run.extra["lc_defers_inputs"] === true;

const inputsOf = (details: unknown): unknown => {
  const inputs = isObject(details) ? details["inputs"] : undefined;
  return inputs === undefined ? undefined : toObject(inputs, "input");
};

const toObject = (value: unknown, key: string): KeyValues =>
  isObject(value) && !Array.isArray(value) ? value : { [key]: value };

/** The class name of a serialized runnable. */
const lastOf = (serialized: unknown): unknown => {
  const id = isObject(serialized) ? serialized["id"] : undefined;
  return Array.isArray(id) ? id.at(-1) : undefined;
};
