import { CallbackManager } from "@langchain/core/callbacks/manager";
import { getCallbackManagerForConfig, patchConfig, Runnable } from "@langchain/core/runnables";
import type { RunnableConfig } from "@langchain/core/runnables";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import type { Any, AnyFunction } from "../any.ts";
import { isEnvTracingEnabled } from "../environment.ts";
import { getCurrentRunTree, isTraceableFunction } from "./current-run.ts";
import { isAsyncIterable } from "./payloads.ts";
import { findTracer } from "./runnable-config.ts";
import type { RunTree } from "./run-tree.ts";
import type { TraceableFunction } from "./traceable-types.ts";

/**
 * Returns callbacks with which the runs of a LangChain runnable become children of a run. They are needed only if the
 * run is not the current one, because LangChain finds the current run itself.
 */
export async function getLangchainCallbacks(
  currentRunTree?: RunTree,
): Promise<CallbackManager | undefined> {
  const runTree = currentRunTree ?? getCurrentRunTree();
  const isEnabled = isEnvTracingEnabled(runTree.tracingEnabled);
  const configuredManager = CallbackManager.configure();
  const callbacks = configuredManager ?? (isEnabled ? new CallbackManager() : undefined);
  if (callbacks === undefined) {
    return undefined;
  }
  let tracer = findTracer(callbacks) as LangChainTracer | undefined;
  if (tracer === undefined && isEnabled) {
    tracer = new LangChainTracer({ projectName: runTree.project_name });
    callbacks.addHandler(tracer);
  }
  Object.assign(callbacks, { _parentRunId: runTree.id });
  tracer?.updateFromRunTree(runTree as never);
  return callbacks;
}

type TracedFunction = TraceableFunction<AnyFunction>;

/** A runnable that calls a traced function. */
export class RunnableTraceable<RunInput, RunOutput> extends Runnable<RunInput, RunOutput> {
  override lc_serializable = false;
  lc_namespace = ["langchain_core", "runnables"];
  protected func: TracedFunction;

  constructor(fields: { func: TracedFunction }) {
    super(fields);
    if (!isTraceableFunction(fields.func)) {
      throw new Error("RunnableTraceable expects a function that traceable returned.");
    }
    this.func = fields.func;
  }

  async invoke(input: RunInput, options?: Partial<RunnableConfig>): Promise<RunOutput> {
    const [config] = this._getOptionsList(options ?? {}, 1) as [RunnableConfig];
    const callbacks = await getCallbackManagerForConfig(config);
    return (await this.#call(
      patchConfig(config, { callbacks: callbacks as never }),
      input,
    )) as RunOutput;
  }

  override async *_streamIterator(
    input: RunInput,
    options?: Partial<RunnableConfig>,
  ): AsyncGenerator<RunOutput> {
    const result = await this.invoke(input, options);
    if (isAsyncIterable(result)) {
      yield* result as AsyncIterable<Any>;
      return;
    }
    yield result;
  }

  static from(func: TracedFunction): RunnableTraceable<unknown, unknown> {
    return new RunnableTraceable({ func });
  }

  #call(config: Partial<RunnableConfig>, input: RunInput): unknown {
    return (this.func as AnyFunction)(config, input) as unknown;
  }
}
