import type { Any, AnyFunction } from "../any.ts";
import { isEnvTracingEnabled, warnOnce } from "../environment.ts";
import { warnOfUnknownOptions } from "../unknown-options.ts";
import type { OptionTable } from "../unknown-options.ts";
import type { Attachments, InvocationParamsSchema, KVMap } from "../schemas.ts";
import { AsyncLocalStorageProviderSingleton, ROOT, traceableMark } from "./context.ts";
import type { ContextPlaceholder } from "./context.ts";
import { traceArgument } from "./deferred-arguments.ts";
import type { TracedArgument } from "./deferred-arguments.ts";
import { callHook, isKVMap, isThenable, toInputs } from "./payloads.ts";
import { copyContextVariables, isRunTree, readMetadata, RunTree } from "./run-tree.ts";
import type { RunTreeConfig } from "./run-tree.ts";
import { isRunnableConfigLike } from "./runnable-config.ts";
import type { TraceableFunction } from "./traceable-types.ts";
import { TracedCall } from "./traced-call.ts";

/** The type of the argument of `processInputs`. It depends on the parameters of the traced function. */
export type ProcessInputs<Args extends unknown[]> = Args extends []
  ? Record<string, never>
  : Args extends [infer Input]
    ? Input extends KVMap
      ? Input extends Iterable<infer Item> | AsyncIterable<infer Item>
        ? { input: Item[] }
        : Input
      : { input: Input }
    : { args: Args };

/** The type of the argument of `processOutputs`. It depends on the result of the traced function. */
export type ProcessOutputs<ReturnValue> = ReturnValue extends KVMap
  ? ReturnValue extends Iterable<infer Item> | AsyncIterable<infer Item>
    ? { outputs: Item[] }
    : ReturnValue
  : { outputs: ReturnValue };

/** Options for recording the calls of a traced function. */
export type TraceableConfig<Func extends AnyFunction> = Partial<
  Omit<RunTreeConfig, "inputs" | "outputs">
> & {
  /** Converts the chunks of a stream into the outputs. */
  aggregator?: (args: Any[]) => Any;
  /** Where the arguments contain a config for one call: the index of the argument, and the key of a member of it. */
  argsConfigPath?: [number] | [number, string];
  /** The tracer of OpenTelemetry to use. This is not supported. */
  tracer?: unknown;
  on_start?: (runTree: RunTree | undefined) => void;
  __finalTracedIteratorKey?: string;
  __deferredSerializableArgOptions?: { depth?: number; maxDepth?: number };
  /** Returns the attachments that the arguments contain, and the inputs without them. */
  extractAttachments?: (...args: Parameters<Func>) => [Attachments | undefined, KVMap];
  /** Returns the parameters of a model call, which become metadata. */
  getInvocationParams?: (...args: Parameters<Func>) => InvocationParamsSchema | undefined;
  /** Returns the inputs to record, for example without secrets. */
  processInputs?: (inputs: Readonly<ProcessInputs<Parameters<Func>>>) => KVMap | Promise<KVMap>;
  /** Returns the outputs to record, for example without secrets. */
  processOutputs?: (
    outputs: Readonly<ProcessOutputs<Awaited<ReturnType<Func>>>>,
  ) => KVMap | Promise<KVMap>;
};

/** The config, with types that do not depend on the traced function. */
type UntypedConfig = Partial<Omit<RunTreeConfig, "inputs" | "outputs">> & {
  readonly aggregator?: (chunks: unknown[]) => unknown;
  readonly argsConfigPath?: readonly [number, string?];
  readonly tracer?: unknown;
  readonly on_start?: (runTree: RunTree | undefined) => void;
  readonly __finalTracedIteratorKey?: string;
  readonly __deferredSerializableArgOptions?: unknown;
  readonly extractAttachments?: (...args: unknown[]) => [Attachments | undefined, KVMap];
  readonly getInvocationParams?: (...args: unknown[]) => object | undefined;
  readonly processInputs?: (inputs: KVMap) => KVMap | Promise<KVMap>;
  readonly processOutputs?: (outputs: KVMap) => KVMap | Promise<KVMap>;
};

const knownOptions: OptionTable<UntypedConfig> = {
  name: true,
  run_type: true,
  metadata: true,
  tags: true,
  client: true,
  project_name: true,
  tracingEnabled: true,
  processInputs: true,
  processOutputs: true,
  aggregator: true,
  argsConfigPath: true,
  on_start: true,
  on_end: true,
  getInvocationParams: true,
  extractAttachments: true,
  reference_example_id: true,
  extra: true,
  id: true,
  parent_run: true,
  parent_run_id: true,
  child_runs: true,
  start_time: true,
  end_time: true,
  error: true,
  serialized: true,
  execution_order: true,
  child_execution_order: true,
  trace_id: true,
  dotted_order: true,
  attachments: true,
  replicas: true,
  distributedParentId: true,
  tracer: true,
  __finalTracedIteratorKey: true,
  __deferredSerializableArgOptions: true,
};

const generatorPrototype: unknown = Object.getPrototypeOf(function* () {});

/**
 * Wraps a function so that each call is recorded as a run. The parent is the current run, or a run that is passed as
 * the first argument. The wrapper returns a promise, or an async iterable if the function itself returns one and not a
 * promise.
 */
export function traceable<Func extends AnyFunction>(
  wrappedFunc: Func,
  config?: TraceableConfig<Func>,
): TraceableFunction<Func> {
  const settings: UntypedConfig = (config ?? {}) as unknown as UntypedConfig;
  const { aggregator, argsConfigPath, tracer, processInputs, processOutputs, extractAttachments } =
    settings;
  const { on_start: onStart, getInvocationParams, __finalTracedIteratorKey: streamKey } = settings;
  const runConfig = toRunConfig(settings);
  warnOfUnknownOptions("traceable", settings, knownOptions);
  if (tracer !== undefined) {
    warnOnce(
      "The option `tracer` of traceable has no effect. Use `millrace/otel` for OpenTelemetry.",
    );
  }
  const isGenerator = Object.getPrototypeOf(wrappedFunc) === generatorPrototype;
  const traced = (...args: unknown[]): unknown => {
    const storage = AsyncLocalStorageProviderSingleton.getInstance();
    const started = startCall(args);
    const call = () =>
      new TracedCall({
        run: started.run,
        aggregator,
        processOutputs,
        onEnd: settings.on_end,
        fillInputs: started.fillInputs,
        streamKey,
        isGenerator,
      }).call(() => wrappedFunc(...started.passed) as unknown);
    return storage.run(started.store, call);
  };

  /** Finds the parent, starts the run, and prepares the arguments. Never throws. */
  const startCall = (args: unknown[]): StartedCall => {
    let passed = args;
    try {
      const { args: otherArguments, config: callConfig } = extractConfig(args, argsConfigPath);
      passed = otherArguments;
      const tracedArguments = otherArguments.map(traceArgument);
      const prepared = prepareCall(tracedArguments, {
        name: wrappedFunc.name || "<lambda>",
        ...runConfig,
        ...callConfig,
        tags: [...new Set([...(runConfig.tags ?? []), ...(callConfig?.tags ?? [])])],
        metadata: { ...runConfig.metadata, ...callConfig?.metadata },
      });
      passed = prepared.passed;
      if (prepared.run === undefined) {
        onStart?.(undefined);
        return { ...prepared, fillInputs: undefined };
      }
      const { run } = prepared;
      const fillInputs = () =>
        setInputs(
          run,
          prepared.inputs.map(({ read }) => read()),
        );
      const isDeferred = prepared.inputs.some((argument) => argument.isDeferred);
      fillInputs();
      onStart?.(run);
      return { ...prepared, fillInputs: isDeferred ? fillInputs : undefined };
    } catch (error) {
      // Only the recording has failed. The function is still called.
      warnOnce(`A call was not recorded: ${error instanceof Error ? error.message : "unknown"}`);
      return { passed, store: undefined, run: undefined, fillInputs: undefined };
    }
  };

  const setInputs = (run: RunTree, args: unknown[]): void => {
    let inputs: KVMap | undefined;
    if (extractAttachments !== undefined) {
      try {
        const [attachments, remaining] = extractAttachments(...args);
        inputs = remaining;
        if (attachments !== undefined) {
          run.attachments = attachments;
        }
      } catch {
        warnOnce("extractAttachments threw, so all arguments are recorded as inputs.");
      }
    }
    const processed = callHook(inputs ?? toInputs(args), {
      name: "processInputs",
      convert: processInputs,
    });
    run._awaitInputsOnPost = isThenable(processed);
    run.inputs = processed;
    const invocationParams = getInvocationParams?.(...args);
    if (invocationParams !== undefined && invocationParams !== null) {
      run.extra = { ...run.extra, metadata: { ...invocationParams, ...readMetadata(run) } };
    }
  };

  Object.defineProperty(traced, traceableMark, { value: runConfig });
  return traced as unknown as TraceableFunction<Func>;
}

/** A call whose run has started. */
interface StartedCall {
  readonly store: RunTree | ContextPlaceholder | undefined;
  readonly run: RunTree | undefined;
  /** The arguments for the function. */
  readonly passed: unknown[];
  readonly fillInputs: (() => void) | undefined;
}

/** A call with its run, which is `undefined` if the call is not recorded. */
interface PreparedCall extends Omit<StartedCall, "fillInputs"> {
  /** The arguments that are inputs. */
  readonly inputs: readonly TracedArgument[];
}

const listPassed = (traced: readonly TracedArgument[]): unknown[] =>
  traced.map(({ passed }) => passed);

/**
 * Creates the run of a call. The first argument may be the parent run, or a LangChain config whose current run becomes
 * the parent. Otherwise the parent is the current run.
 */
function prepareCall(traced: readonly TracedArgument[], config: RunTreeConfig): PreparedCall {
  const [first, ...others] = traced;
  const firstArgument = first?.passed;
  if (isRunnableConfigLike(firstArgument)) {
    const run = RunTree.fromRunnableConfig(firstArgument, config);
    return toPreparedCall(run, { inputs: others, passed: listPassed(others) });
  }
  if (firstArgument === ROOT) {
    const run = createRoot(config, undefined);
    return toPreparedCall(run, { inputs: others, passed: [run, ...listPassed(others)] });
  }
  if (isRunTree(firstArgument)) {
    const run = firstArgument.createChild(config);
    return toPreparedCall(run, { inputs: others, passed: [run, ...listPassed(others)] });
  }
  const store = AsyncLocalStorageProviderSingleton.getInstance().getStore() as
    | RunTree
    | ContextPlaceholder
    | undefined;
  const run = isRunTree(store)
    ? store.createChild(config)
    : createRoot(config, store?.tracingEnabled);
  if (run !== undefined) {
    copyContextVariables(store, run);
  }
  return toPreparedCall(run, { inputs: traced, passed: listPassed(traced) });
}

/** Creates a run without a parent. Returns `undefined` if tracing is off, so that no client is created. */
function createRoot(
  config: RunTreeConfig,
  surroundingTracingEnabled: boolean | undefined,
): RunTree | undefined {
  const tracingEnabled = config.tracingEnabled ?? surroundingTracingEnabled;
  if (!isEnvTracingEnabled(tracingEnabled)) {
    return undefined;
  }
  return new RunTree({ ...config, ...(tracingEnabled === undefined ? {} : { tracingEnabled }) });
}

function toPreparedCall(
  run: RunTree | undefined,
  { inputs, passed }: Pick<PreparedCall, "inputs" | "passed">,
): PreparedCall {
  const isEnabled = run !== undefined && isEnvTracingEnabled(run.tracingEnabled);
  return isEnabled
    ? { run, store: run, inputs, passed }
    : { run: undefined, store: { tracingEnabled: false }, inputs, passed };
}

/** Returns the members of the config that are fields of a run. */
function toRunConfig(settings: UntypedConfig): Partial<RunTreeConfig> {
  const {
    aggregator: _aggregator,
    argsConfigPath: _argsConfigPath,
    tracer: _tracer,
    on_start: _onStart,
    on_end: _onEnd,
    __finalTracedIteratorKey: _streamKey,
    __deferredSerializableArgOptions: _deferred,
    extractAttachments: _extractAttachments,
    getInvocationParams: _getInvocationParams,
    processInputs: _processInputs,
    processOutputs: _processOutputs,
    ...runConfig
  } = settings;
  return runConfig;
}

/** Removes the config for one call from the arguments of the call. */
function extractConfig(
  args: unknown[],
  path: readonly [number, string?] | undefined,
): { readonly args: unknown[]; readonly config?: Partial<RunTreeConfig> } {
  if (path === undefined) {
    return { args };
  }
  const [index, key] = path;
  const argument = args[index];
  if (key === undefined) {
    return index < args.length
      ? { args: args.toSpliced(index, 1), config: argument as Partial<RunTreeConfig> }
      : { args };
  }
  if (!isKVMap(argument)) {
    return { args };
  }
  const { [key]: config, ...otherMembers } = argument;
  return { args: args.with(index, otherMembers), config: config as Partial<RunTreeConfig> };
}
