import { filterPropagated } from "../client/base-client.ts";
import type { Client } from "../client/client.ts";
import { findSharedClient } from "../client/shared-client.ts";
import {
  getDefaultProjectName,
  isEnvTracingEnabled,
  readVariable,
  warnOnce,
} from "../environment.ts";
import type { Attachments, BaseRun, KVMap, RunCreate } from "../schemas.ts";
import { uuid7FromTime } from "../uuid7.ts";
import { contextVariablesKey } from "./context.ts";
import { readBaggage, readHeader, writeBaggage } from "./headers.ts";
import type { HeadersLike } from "./headers.ts";
import { findTracer, isCallbackManager, isRunnableConfigLike } from "./runnable-config.ts";
import type { CallbackManagerLike, RunnableConfigLike } from "./runnable-config.ts";

/**
 * Another project or server to which a run should be written. It is not supported. The type exists so that programs
 * compile.
 */
export interface WriteReplica {
  apiUrl?: string;
  apiKey?: string;
  workspaceId?: string;
  projectName?: string;
  primary?: boolean;
  updates?: KVMap | undefined;
  fromEnv?: boolean;
  reroot?: boolean;
  client?: Client;
}

/** The fields with which a run is created. */
export interface RunTreeConfig {
  name: string;
  run_type?: string;
  id?: string;
  project_name?: string;
  parent_run?: RunTree;
  parent_run_id?: string;
  child_runs?: RunTree[];
  start_time?: number | string;
  end_time?: number | string;
  extra?: KVMap;
  metadata?: KVMap;
  tags?: string[];
  error?: string;
  serialized?: object;
  inputs?: KVMap;
  outputs?: KVMap;
  reference_example_id?: string;
  client?: Client;
  tracingEnabled?: boolean;
  on_end?: (runTree: RunTree) => void;
  execution_order?: number;
  child_execution_order?: number;
  trace_id?: string;
  dotted_order?: string;
  attachments?: Attachments;
  replicas?: ([string, KVMap | undefined] | WriteReplica)[];
  distributedParentId?: string;
}

/** Something that happened at one point in time during a run, such as a streamed token. */
export interface RunEvent {
  name?: string;
  time?: string;
  message?: string;
  kwargs?: Record<string, unknown>;
  [key: string]: unknown;
}

/** The key of the member of `extra` that contains the LangChain config for the children of a run. */
const childConfigKey = Symbol.for("lc:child_config");

/**
 * Returns a time with six decimal places. `Date` provides only milliseconds, so the execution order takes the
 * place of the microseconds. Runs that start in the same millisecond thus keep their order.
 */
function toMicrosecondTime(epoch: number | string, executionOrder = 1): string {
  const microseconds = executionOrder.toFixed(0).slice(0, 3).padStart(3, "0");
  return `${new Date(epoch).toISOString().slice(0, -1)}${microseconds}Z`;
}

/** Returns the last segment of a dotted order, and the time that it contains. */
export function convertToDottedOrderFormat(
  epoch: number,
  runId: string,
  executionOrder = 1,
): { dottedOrder: string; microsecondPrecisionDatestring: string } {
  const microsecondPrecisionDatestring = toMicrosecondTime(epoch, executionOrder);
  return {
    dottedOrder: microsecondPrecisionDatestring.replaceAll(/[-:.]/g, "") + runId,
    microsecondPrecisionDatestring,
  };
}

/**
 * A run whose fields a program may change until it is sent. `postRun` records its start and `patchRun` its end, and the
 * client sends both. Except for `metadata`, the properties are fields and not accessors, because LangChain copies a run
 * with the spread operator.
 */
export class RunTree implements BaseRun {
  declare id: string;
  declare name: string;
  declare run_type: string;
  declare project_name: string;
  declare parent_run?: RunTree;
  declare parent_run_id?: string;
  declare child_runs: RunTree[];
  declare start_time: number;
  declare end_time?: number;
  declare extra: KVMap;
  declare tags?: string[];
  declare error?: string;
  declare serialized: object;
  declare inputs: KVMap;
  declare outputs?: KVMap;
  declare reference_example_id?: string;
  declare client: Client;
  declare events?: KVMap[];
  declare trace_id: string;
  declare dotted_order: string;
  declare tracingEnabled?: boolean;
  declare execution_order: number;
  declare child_execution_order: number;
  declare attachments?: Attachments;
  declare replicas?: WriteReplica[];
  declare distributedParentId?: string;
  /** @internal The start time with microseconds. It is absent if the config contains the dotted order. */
  declare _serialized_start_time?: string;
  /** @internal Whether `inputs` is a promise, which `postRun` awaits. */
  declare _awaitInputsOnPost?: boolean;
  /** @internal Whether `postRun` was called. */
  declare _isPosted?: boolean;
  /** @internal The attachments that were sent with the start. */
  declare _postedAttachments?: unknown;

  constructor(originalConfig: RunTreeConfig | RunTree) {
    if (isRunTree(originalConfig)) {
      Object.assign(this, originalConfig);
      return;
    }
    const { metadata, replicas, id, ...config } = originalConfig;
    if (replicas !== undefined && replicas.length > 0) {
      warnOnce("`replicas` of a run are not supported: the run is written once, by its client.");
    }
    Object.assign(this, {
      run_type: "chain",
      project_name: getDefaultProjectName(),
      child_runs: [],
      start_time: Date.now(),
      serialized: {},
      inputs: {},
      execution_order: 1,
      child_execution_order: 1,
      ...config,
      ...(id === undefined || id === null ? {} : { id }),
      client: config.client ?? RunTree.getSharedClient(),
      extra: {
        ...config.extra,
        metadata: { ...metadata, ...(config.extra?.["metadata"] as KVMap | undefined) },
      },
    });
    this.project_name ??= getDefaultProjectName();
    this.start_time ??= Date.now();
    if (!this.dotted_order) {
      this._serialized_start_time = toMicrosecondTime(this.start_time, this.execution_order);
    }
    if (!this.id) {
      this.id = uuid7FromTime(this.start_time);
    }
    if (!this.trace_id) {
      this.trace_id = this.parent_run?.trace_id ?? this.id;
    }
    if (!this.dotted_order) {
      const { dottedOrder } = convertToDottedOrderFormat(
        this.start_time,
        this.id,
        this.execution_order,
      );
      this.dotted_order =
        this.parent_run === undefined
          ? dottedOrder
          : `${this.parent_run.dotted_order}.${dottedOrder}`;
    }
  }

  /** Returns the client of all runs that were created without a client. The first call creates it. */
  static getSharedClient(): Client {
    return findSharedClient();
  }

  set metadata(metadata: KVMap) {
    this.extra = { ...this.extra, metadata: { ...readMetadata(this), ...metadata } };
  }

  get metadata(): KVMap {
    return this.extra?.["metadata"] as KVMap;
  }

  createChild(config: RunTreeConfig): RunTree {
    const executionOrder = this.child_execution_order + 1;
    const child = new RunTree({
      ...config,
      parent_run: this,
      project_name: this.project_name,
      client: this.client,
      ...(this.tracingEnabled === undefined ? {} : { tracingEnabled: this.tracingEnabled }),
      execution_order: executionOrder,
      child_execution_order: executionOrder,
    });
    child.extra = { ...child.extra, metadata: { ...readMetadata(this), ...readMetadata(child) } };
    copyContextVariables(this, child);
    nestChildConfig(child, readChildConfig(config.extra) ?? readChildConfig(this.extra));
    countExecution(this, executionOrder);
    // `postRun` can send children with their parent. After that call, the list would only use memory.
    if (this._isPosted !== true) {
      this.child_runs.push(child);
    }
    return child;
  }

  /** Sets the outputs, the error and the end time, unless they are already set. `patchRun` sends them. */
  // oxlint-disable-next-line max-params -- the signature of langsmith
  async end(
    outputs?: KVMap,
    error?: string,
    endTime = Date.now(),
    metadata?: KVMap,
  ): Promise<void> {
    if (this.outputs === undefined && outputs !== undefined) {
      this.outputs = outputs;
    }
    if (this.error === undefined && error !== undefined) {
      this.error = error;
    }
    this.end_time ??= endTime;
    if (metadata !== undefined && Object.keys(metadata).length > 0) {
      this.metadata = metadata;
    }
  }

  /** Records the start of the run. Never rejects. */
  async postRun(excludeChildRuns = true): Promise<void> {
    try {
      if (this._awaitInputsOnPost === true) {
        const inputs: unknown = this.inputs;
        this.inputs = (await inputs) as KVMap;
      }
      void this.client.createRun({ ...toRunCreate(this), child_runs: [] });
      this._isPosted = true;
      this._postedAttachments = this.attachments;
      if (!excludeChildRuns) {
        await Promise.all(this.child_runs.map((child) => child.postRun(false)));
      }
      this.child_runs = [];
    } catch (error) {
      warnOnce(`The start of a run was not recorded: ${describe(error)}`);
    }
  }

  /**
   * Records the current fields of the run, usually at its end. Never rejects.
   *
   * @param options - with `excludeInputs: false`, the inputs are sent again, although `postRun` has sent them.
   */
  async patchRun(options?: { excludeInputs?: boolean }): Promise<void> {
    try {
      const { inputs, attachments, child_runs: _, serialized: __, ...update } = toRunCreate(this);
      const excludesInputs = options?.excludeInputs ?? excludesInputsByDefault();
      void this.client.updateRun(this.id, {
        ...update,
        ...(excludesInputs ? {} : { inputs }),
        // Attachments that were sent with the start are not sent again.
        ...(attachments === undefined || attachments === this._postedAttachments
          ? {}
          : { attachments }),
      });
      this.child_runs = [];
    } catch (error) {
      warnOnce(`The end of a run was not recorded: ${describe(error)}`);
    }
  }

  toJSON(): RunCreate & { id: string } {
    return toRunCreate(this);
  }

  /** Adds an event. A string becomes the message of a new event. */
  addEvent(event: RunEvent | string): void {
    const fields = typeof event === "string" ? { name: "event", message: event } : event;
    this.events ??= [];
    this.events.push({ ...fields, time: fields.time ?? new Date().toISOString() });
  }

  /** Creates a run below the current run of a LangChain config. */
  static fromRunnableConfig(parentConfig: RunnableConfigLike, props: RunTreeConfig): RunTree {
    const { callbacks } = parentConfig;
    const tracer = findTracer(callbacks);
    const parentRunId = isCallbackManager(callbacks) ? callbacks.getParentRunId?.() : undefined;
    const parent = tracer?.getRun?.(parentRunId ?? "") as RunTree | undefined;
    const inherited = {
      ...(tracer?.client === undefined ? {} : { client: tracer.client as Client }),
      tracingEnabled: tracer !== undefined || isEnvTracingEnabled(),
      ...(tracer?.projectName === undefined ? {} : { project_name: tracer.projectName }),
    };
    if (parent === undefined) {
      return new RunTree({ ...props, ...inherited });
    }
    return new RunTree({
      ...inherited,
      name: parent.name,
      id: parent.id,
      trace_id: parent.trace_id,
      dotted_order: parent.dotted_order,
      tags: [...new Set([...(parent.tags ?? []), ...(parentConfig.tags ?? [])])],
      extra: { metadata: { ...readMetadata(parent), ...parentConfig.metadata } },
    }).createChild(props);
  }

  static fromDottedOrder(dottedOrder: string): RunTree | undefined {
    return this.fromHeaders({ "langsmith-trace": dottedOrder });
  }

  /** Reads a run that another process sent in request headers. It can be the parent of runs in this process. */
  static fromHeaders(
    headers: Record<string, string | string[]> | HeadersLike,
    inheritArgs?: Partial<RunTreeConfig>,
  ): RunTree | undefined {
    const dottedOrder = readHeader(headers, "langsmith-trace")?.trim();
    const ids = dottedOrder?.split(".").map((segment) => segment.split("Z")[1]);
    const [traceId] = ids ?? [];
    const id = ids?.at(-1);
    if (!dottedOrder || !traceId || !id) {
      return undefined;
    }
    const baggage = readHeader(headers, "baggage");
    const run = new RunTree({
      name: "parent",
      run_type: "chain",
      ...inheritArgs,
      id,
      trace_id: traceId,
      dotted_order: dottedOrder,
      ...(baggage === undefined ? {} : readBaggage(baggage)),
    });
    run.distributedParentId = run.id;
    return run;
  }

  /**
   * Returns request headers that make this run the parent of runs in another process. Also adds them to `headers`. The
   * client's options apply to the metadata and tags that the headers carry.
   */
  toHeaders(headers?: HeadersLike): { "langsmith-trace": string; baggage: string } {
    const result = {
      "langsmith-trace": this.dotted_order,
      baggage: writeBaggage({
        ...filterPropagated(this.client, { metadata: readMetadata(this), tags: this.tags }),
        project_name: this.project_name,
      }),
    };
    for (const [name, value] of Object.entries(result)) {
      headers?.set(name, value);
    }
    return result;
  }
}

/** Returns the fields to send. In an update, a field that is `undefined` changes nothing. */
const toRunCreate = (run: RunTree): RunCreate & { id: string } =>
  ({
    id: run.id,
    name: run.name,
    start_time: run._serialized_start_time ?? run.start_time,
    end_time: run.end_time,
    run_type: run.run_type,
    reference_example_id: run.reference_example_id,
    extra: run.extra,
    serialized: run.serialized,
    error: run.error,
    inputs: run.inputs,
    outputs: run.outputs,
    session_name: run.project_name,
    child_runs: run.child_runs.map(toRunCreate),
    parent_run_id: run.parent_run?.id ?? run.parent_run_id,
    trace_id: run.trace_id,
    dotted_order: run.dotted_order,
    tags: run.tags,
    attachments: run.attachments,
    events: run.events,
  }) as RunCreate & { id: string };

/** Whether a value is a run tree of this package, of langsmith or of Millrace's integration with LangChain. */
export const isRunTree = (x?: unknown): x is RunTree =>
  typeof x === "object" &&
  x !== null &&
  typeof Reflect.get(x, "createChild") === "function" &&
  typeof Reflect.get(x, "postRun") === "function";

/** Returns the metadata of a run; an empty object if it has none. */
export const readMetadata = (run: Pick<RunTree, "extra"> | undefined): KVMap =>
  (run?.extra?.["metadata"] ?? {}) as KVMap;

const readChildConfig = (extra: object | undefined): unknown =>
  extra === undefined ? undefined : Reflect.get(extra, childConfigKey);

function excludesInputsByDefault(): boolean {
  const value = readVariable("EXCLUDE_INPUTS_ON_PATCH");
  return value === undefined || value.toLowerCase() === "true" || value === "1";
}

/** Copies the variables that LangChain keeps in the context from a parent to a run below it. */
export function copyContextVariables(store: unknown, run: RunTree): void {
  if (typeof store === "object" && store !== null && contextVariablesKey in store) {
    Reflect.set(run, contextVariablesKey, store[contextVariablesKey]);
  }
}

/**
 * Copies the LangChain config of the parent to a child. Runs that are started with the copy become children of the
 * child.
 */
function nestChildConfig(child: RunTree, config: unknown): void {
  if (!isRunnableConfigLike(config)) {
    return;
  }
  const nested: RunnableConfigLike = { ...config };
  const callbacks: CallbackManagerLike | undefined = isCallbackManager(config.callbacks)
    ? config.callbacks.copy?.()
    : undefined;
  if (callbacks !== undefined) {
    Object.assign(callbacks, { _parentRunId: child.id });
    findTracer(callbacks)?.updateFromRunTree?.(child);
    nested.callbacks = callbacks;
  }
  Reflect.set(child.extra, childConfigKey, nested);
}

/** Raises the execution counters of a run and its ancestors. Later children get their execution order from them. */
function countExecution(run: RunTree, executionOrder: number): void {
  const visited = new Set<string>();
  for (
    let current: RunTree | undefined = run;
    current !== undefined && !visited.has(current.id);
    current = current.parent_run
  ) {
    visited.add(current.id);
    current.child_execution_order = Math.max(current.child_execution_order, executionOrder);
  }
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : "unknown");
