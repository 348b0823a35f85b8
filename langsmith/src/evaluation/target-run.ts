import type { RunOptions } from "millrace";
import type { Client } from "../client/client.ts";
import { warnOnce } from "../environment.ts";
import type { KVMap, Run } from "../schemas.ts";
import { AsyncLocalStorageProviderSingleton } from "../tracing/context.ts";
import { hasOtherRuns } from "../tracing/other-runs.ts";
import { isAsyncIterable } from "../tracing/payloads.ts";
import { readMetadata, RunTree } from "../tracing/run-tree.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";

/** The key of the method by which Millrace lets a target start the runs of rows itself. */
const startRowRunKey = Symbol.for("millrace.startRowRun");

/** The runs of the target of one evaluation. The traced function itself records them, as in langsmith. */
export class TargetRuns {
  readonly #client: Client;
  /** Metadata that all runs inherit. */
  readonly #metadata: KVMap;
  readonly #runs = new Map<string, TargetRun>();
  /** The run of each row that is being evaluated, by the context in which its target is called. */
  readonly #byContext = new WeakMap<object, TargetRun>();

  constructor(client: Client, metadata: KVMap) {
    this.#client = client;
    this.#metadata = metadata;
  }

  /** Makes Millrace leave the root runs of rows to this object. Returns the same target. */
  recordRunsOf<Target extends object>(target: Target): Target {
    return Object.defineProperty(target, startRowRunKey, {
      value: (options: RunOptions) => this.#start(options),
    });
  }

  /** Calls a traced target, and returns the outputs that its run has recorded. */
  async call(target: () => unknown): Promise<unknown> {
    const context = AsyncLocalStorageProviderSingleton.getInstance().getStore();
    return this.#byContext.get(context as object)?.collectOutputs(target);
  }

  /** Returns the run of a row with its descendants; `undefined` if the row was not evaluated here. */
  find(runId: string): Run | undefined {
    return this.#runs.get(runId)?.toRun();
  }

  #start(options: RunOptions) {
    const run = new TargetRun(this.#client, { options, metadata: this.#metadata });
    this.#runs.set(String(options.id), run);
    this.#byContext.set(run.context, run);
    const storage = AsyncLocalStorageProviderSingleton.getInstance();
    return {
      sampled: this.#client.millrace.enabled,
      call: <Result>(fn: () => Result): Result => storage.run(run.context, fn),
      // The traced function has recorded the end with the outputs.
      end: () => {},
      fail: (error: unknown) => run.fail(error),
      addEvent: () => {},
    };
  }
}

/** What is known about the run of a row before it starts. */
interface RowInit {
  readonly options: RunOptions;
  readonly metadata: KVMap;
}

/** The root run of one row, and the runs below it. */
class TargetRun {
  /** Takes the place of the parent of the traced function. It is not recorded. */
  readonly context: RunTree;
  readonly #client: Client;
  readonly #children = new WeakMap<RunTree, RunTree[]>();
  /** Runs that were read from the server, by the ids of their parents. */
  readonly #stored = new Map<string, Run[]>();
  #root: RunTree | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(client: Client, { options, metadata }: RowInit) {
    this.#client = client;
    const { id, projectName, startTime, referenceExampleId, metadata: rowMetadata } = options;
    const common = {
      client,
      tracingEnabled: true,
      project_name: String(projectName),
      ...(typeof referenceExampleId === "string"
        ? { reference_example_id: referenceExampleId }
        : {}),
    };
    this.context = new RunTree({ ...common, name: "evaluation" });
    overrideMethod(this.context, "createChild", (config: RunTreeConfig) => {
      // A second call of the target would need another id, but `evaluate` calls the target once for each row.
      const root = new RunTree({
        ...config,
        ...common,
        id: String(id),
        start_time: startTime as number,
        metadata: { ...config.metadata, ...metadata, ...rowMetadata },
      });
      this.#root = root;
      this.#observeChildren(root, Object.keys(rowMetadata ?? {}));
      this.#observeEnd(root);
      return root;
    });
  }

  /** Calls the traced function and waits until its run has ended. A stream is read to its end. */
  async collectOutputs(target: () => unknown): Promise<unknown> {
    try {
      const returned = await target();
      if (isAsyncIterable(returned)) {
        for await (const _ of returned) {
          // The traced function records the chunks.
        }
      }
    } finally {
      await this.#ended;
    }
    if (this.#root !== undefined && hasOtherRuns(this.#root)) {
      await this.#readStoredRuns(this.#root);
    }
    return this.#root?.outputs;
  }

  /** Ends the run if the traced function has not ended it, for example because the call timed out. */
  fail(error: unknown): void {
    const root = this.#root;
    if (root !== undefined && root.end_time === undefined) {
      void root.end(undefined, String(error));
      void root.patchRun();
    }
  }

  toRun(): Run | undefined {
    return this.#root === undefined ? undefined : this.#describe(this.#root);
  }

  /** Collects the descendants of a run, because a run no longer lists its children after it has been sent. */
  #observeChildren(run: RunTree, rowKeys: readonly string[]): void {
    const children: RunTree[] = [];
    this.#children.set(run, children);
    const createChild = run.createChild.bind(run);
    overrideMethod(run, "createChild", (config: RunTreeConfig) => {
      const child = createChild(config);
      const metadata = Object.entries(readMetadata(child)).filter(
        ([key]) => !rowKeys.includes(key) || Object.hasOwn(config.metadata ?? {}, key),
      );
      // What Millrace stores about the row belongs to its root run only.
      child.extra = { ...child.extra, metadata: Object.fromEntries(metadata) };
      children.push(child);
      this.#observeChildren(child, rowKeys);
      return child;
    });
  }

  #observeEnd(run: RunTree): void {
    this.#ended = new Promise((resolve) => {
      const patchRun = run.patchRun.bind(run);
      overrideMethod(run, "patchRun", async (options?: { excludeInputs?: boolean }) => {
        await patchRun(options);
        resolve();
      });
    });
  }

  /**
   * Reads the runs that were recorded without run trees, such as those of model calls: only the worker threads and the
   * server parse their requests and responses.
   */
  async #readStoredRuns({ trace_id: traceId, project_name: projectName }: RunTree): Promise<void> {
    try {
      await this.#client.flush();
      for await (const run of this.#client.listRuns({ traceId, projectName, order: "asc" })) {
        const siblings = this.#stored.get(run.parent_run_id ?? "") ?? [];
        this.#stored.set(run.parent_run_id ?? "", [...siblings, withTimes(run)]);
      }
    } catch {
      warnOnce(
        "The runs below the run of a target can't be read from the server, so child_runs lacks model calls.",
      );
    }
  }

  #describe(run: RunTree): Run {
    const children = (this.#children.get(run) ?? []).map((child) => this.#describe(child));
    const known = new Set(children.map(({ id }) => id));
    const others = this.#listStored(run.id).filter(({ id }) => !known.has(id));
    const { parent_run: parent, parent_run_id: parentId = parent?.id } = run;
    return {
      id: run.id,
      name: run.name,
      run_type: run.run_type,
      start_time: run.start_time,
      end_time: run.end_time,
      inputs: run.inputs,
      outputs: run.outputs,
      error: run.error,
      extra: run.extra,
      serialized: run.serialized,
      tags: run.tags,
      events: run.events,
      trace_id: run.trace_id,
      dotted_order: run.dotted_order,
      parent_run_id: parentId,
      reference_example_id: run.reference_example_id,
      project_name: run.project_name,
      execution_order: run.execution_order,
      attachments: run.attachments,
      child_runs: [...children, ...others].toSorted(
        (left, right) => Number(left.start_time) - Number(right.start_time),
      ),
    } as Run;
  }

  #listStored(parentId: string): Run[] {
    const runs = this.#stored.get(parentId) ?? [];
    return runs.map((run) => ({ ...run, child_runs: this.#listStored(run.id) }));
  }
}

/** Converts the times of a run that was read from the server to numbers, because all other runs have numbers. */
const withTimes = (run: Run): Run => ({
  ...run,
  ...(run.start_time === undefined ? {} : { start_time: new Date(run.start_time).getTime() }),
  ...(run.end_time === undefined ? {} : { end_time: new Date(run.end_time).getTime() }),
});

/** Replaces a method of one run. LangChain does not copy it to another run, because it is not enumerable. */
function overrideMethod<Name extends "createChild" | "patchRun">(
  run: RunTree,
  name: Name,
  method: RunTree[Name],
): void {
  Object.defineProperty(run, name, { value: method, configurable: true, writable: true });
}
