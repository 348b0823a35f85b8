import { omitUndefined } from "../omit-undefined.ts";
import { NotFoundError } from "millrace";
import type { ListRuns, RunField, WirePost } from "millrace";
import { getDefaultProjectName, warnOnce } from "../environment.ts";
import type { Any } from "../any.ts";
import { createUnsupportedError } from "../unsupported.ts";
import type { Attachments, KVMap, Run, RunCreate, RunUpdate } from "../schemas.ts";
import { uuid7FromTime } from "../uuid7.ts";
import { BaseClient, convert } from "./base-client.ts";
import { toCamelName, toRun, toSnakeCase } from "./to-langsmith.ts";

/** A run to record. */
export interface CreateRunParams {
  name: string;
  inputs: KVMap;
  run_type: string;
  id?: string;
  start_time?: number | string;
  end_time?: number | string;
  extra?: KVMap;
  error?: string;
  serialized?: object;
  outputs?: KVMap;
  reference_example_id?: string;
  child_runs?: RunCreate[];
  parent_run_id?: string;
  project_name?: string;
  revision_id?: string;
  trace_id?: string;
  dotted_order?: string;
  attachments?: Attachments;
}

/** Another server that a run should be sent to. This is not supported. */
interface ReplicaOptions {
  apiKey?: string;
  apiUrl?: string;
  workspaceId?: string;
}

/** Filters of `listRuns`. */
export interface ListRunsParams {
  projectId?: string | string[];
  projectName?: string | string[];
  traceId?: string;
  isRoot?: boolean;
  executionOrder?: number;
  parentRunId?: string;
  order?: "asc" | "desc";
  referenceExampleId?: string;
  startTime?: Date;
  runType?: string;
  error?: boolean;
  id?: string[];
  limit?: number;
  query?: string;
  filter?: string;
  traceFilter?: string;
  treeFilter?: string;
  select?: string[];
}

/** Arguments of `readThread`. */
export interface ReadThreadParams {
  threadId: string;
  projectId?: string;
  projectName?: string;
  isRoot?: boolean;
  limit?: number;
  filter?: string;
  order?: "asc" | "desc";
}

/** Filters of `listThreads`. */
export interface ListThreadsParams {
  projectId?: string;
  projectName?: string;
  limit?: number;
  offset?: number;
  filter?: string;
  startTime?: Date;
  isRoot?: boolean;
}

/** A conversation with its runs. */
export interface ListThreadsItem {
  thread_id: string;
  runs: Run[];
  count: number;
  filter: string;
  total_tokens: number;
  total_cost: number | null;
  min_start_time: string;
  max_start_time: string;
  latency_p50: number;
  latency_p99: number;
  feedback_stats: Any;
  first_inputs: string;
  last_outputs: string;
  last_error: string | null;
}

/** The part of the client that records and reads runs. */
export class RunMethods extends BaseClient {
  /**
   * Records a run. If the run can't be sent, no error is thrown, but the client counts the failure. A run with
   * `trace_id` and `dotted_order` is sent later, together with others. Otherwise the promise resolves once the run has
   * been sent, as in langsmith.
   */
  async createRun(run: CreateRunParams, options?: ReplicaOptions): Promise<void> {
    warnOfReplica(options);
    const { project_name: projectName, ...fields } = run;
    const startTime = run.start_time ?? Date.now();
    const id = run.id ?? uuid7FromTime(startTime);
    await this.millrace.createRun(
      this.#mask({
        ...fields,
        id,
        start_time: startTime,
        session_name: projectName ?? (run as RunCreate).session_name ?? getDefaultProjectName(),
      }) as WirePost,
    );
    await this.#flushUnlessBatched(run);
  }

  /** Records changes of a run. Behaves like `createRun`. */
  async updateRun(runId: string, run: RunUpdate, options?: ReplicaOptions): Promise<void> {
    warnOfReplica(options);
    await this.millrace.updateRun(runId, this.#mask(run));
    await this.#flushUnlessBatched(run);
  }

  /** Records runs and changes of runs. */
  async batchIngestRuns({
    runCreates = [],
    runUpdates = [],
  }: {
    runCreates?: RunCreate[];
    runUpdates?: RunUpdate[];
  }): Promise<void> {
    await Promise.all([
      ...runCreates.map((run) => this.createRun(run)),
      ...runUpdates.map((run) => this.updateRun(run.id ?? "", run)),
    ]);
    await this.flush();
  }

  /** The same as `batchIngestRuns`. */
  async multipartIngestRuns(runs: {
    runCreates?: RunCreate[];
    runUpdates?: RunUpdate[];
  }): Promise<void> {
    await this.batchIngestRuns(runs);
  }

  async readRun(
    runId: string,
    { loadChildRuns }: { loadChildRuns: boolean } = { loadChildRuns: false },
  ): Promise<Run> {
    return toRun(await this.millrace.runs.read(runId, { withChildRuns: loadChildRuns }));
  }

  /** Returns the address of a run's page. */
  async getRunUrl({
    runId,
    run,
    projectOpts,
  }: {
    runId?: string;
    run?: Run;
    projectOpts?: { projectName?: string; projectId?: string };
  }): Promise<string> {
    const id = runId ?? run?.id ?? "";
    const projectId = run?.session_id ?? projectOpts?.projectId;
    const { projectName } = projectOpts ?? {};
    const key =
      projectId === undefined && projectName !== undefined
        ? { projectName }
        : { projectId: projectId ?? (await this.readRun(id)).session_id ?? "" };
    return `${await this.millrace.projects.url(key)}/r/${id}?poll=true`;
  }

  async *listRuns(props: ListRunsParams): AsyncIterable<Run> {
    const { projectId, projectName, id, executionOrder, referenceExampleId, select, ...others } =
      props;
    // The type `ListRuns` does not depend on the selected fields, and neither do the types of langsmith.
    const filter: ListRuns = omitUndefined({
      ...others,
      isRoot: others.isRoot ?? (executionOrder === 1 ? true : undefined),
      projectIds: toList(projectId),
      projectNames: toList(projectName),
      ids: id,
      referenceExampleIds: toList(referenceExampleId),
      select: select?.map(toCamelName) as RunField[] | undefined,
      // The server validates the type.
      runType: others.runType as ListRuns["runType"],
    });
    yield* convert(this.millrace.runs.list(filter), toRun);
  }

  /** Lists the runs of a conversation. */
  async *readThread(props: ReadThreadParams): AsyncIterable<Run> {
    const { threadId, filter, isRoot = true, order = "asc", ...others } = props;
    requireProject("readThread", others);
    const thread = `eq(thread_id, ${JSON.stringify(threadId)})`;
    yield* this.listRuns({
      ...others,
      isRoot,
      order,
      filter: filter === undefined ? thread : `and(${thread}, ${filter})`,
    });
  }

  /** Lists conversations with their root runs. The latest conversation comes first. */
  async listThreads(props: ListThreadsParams): Promise<ListThreadsItem[]> {
    const { limit, offset = 0, startTime, isRoot = true, ...others } = props;
    requireProject("listThreads", others);
    const threads = new Map<string, Run[]>();
    const since = startTime ?? new Date(Date.now() - 24 * 60 * 60 * 1_000);
    for await (const run of this.listRuns({ ...others, isRoot, startTime: since })) {
      const metadata = run.extra?.["metadata"] as Record<string, unknown> | undefined;
      const threadId = ["session_id", "conversation_id", "thread_id"]
        .map((key) => metadata?.[key])
        .find((value) => typeof value === "string");
      if (threadId !== undefined) {
        threads.set(threadId, [...(threads.get(threadId) ?? []), run]);
      }
    }
    return [...threads]
      .map(([threadId, runs]) => summarizeThread(threadId, runs))
      .toSorted((left, right) => (left.max_start_time < right.max_start_time ? 1 : -1))
      .slice(offset, limit === undefined ? undefined : offset + limit);
  }

  /** Not supported. */
  listGroupRuns(_props: object): AsyncIterable<ListThreadsItem> {
    throw createUnsupportedError(
      "Client.listGroupRuns",
      "Use listThreads, or listRuns with a filter.",
    );
  }

  async getRunStats(props: {
    id?: string[];
    trace?: string;
    parentRun?: string;
    runType?: string;
    projectNames?: string[];
    projectIds?: string[];
    referenceExampleIds?: string[];
    startTime?: string;
    endTime?: string;
    error?: boolean;
    query?: string;
    filter?: string;
    traceFilter?: string;
    treeFilter?: string;
    isRoot?: boolean;
    dataSourceType?: string;
  }): Promise<Any> {
    const { id, trace, parentRun, dataSourceType, runType, ...others } = props;
    if (dataSourceType !== undefined) {
      throw createUnsupportedError("The filter dataSourceType of getRunStats", "Leave it out.");
    }
    const filter = { ...others, ids: id, traceId: trace, parentRunId: parentRun };
    return toSnakeCase(
      await this.millrace.runs.stats(
        omitUndefined({ ...filter, runType: runType as ListRuns["runType"] }),
      ),
    );
  }

  /** Shares a run and returns its link. The server chooses the token. */
  async shareRun(runId: string, { shareId }: { shareId?: string } = {}): Promise<string> {
    if (shareId !== undefined) {
      warnOnce("The option shareId of shareRun has no effect: the server chooses the link.");
    }
    const { url } = await this.millrace.runs.share(runId);
    return url;
  }

  async unshareRun(runId: string): Promise<void> {
    await this.millrace.runs.unshare(runId);
  }

  /** Returns the link of a shared run, or `undefined` if the run is not shared. */
  async readRunSharedLink(runId: string): Promise<string | undefined> {
    const { shareToken } = await this.millrace.runs.read(runId);
    return shareToken === undefined
      ? undefined
      : // Sharing a run again returns the same link.
        (await this.millrace.runs.share(runId)).url;
  }

  async listSharedRuns(shareToken: string, { runIds }: { runIds?: string[] } = {}): Promise<Run[]> {
    const root = toRun(await this.millrace.runs.readShared(shareToken));
    const runs = flatten(root);
    return runIds === undefined ? runs : runs.filter(({ id }) => runIds.includes(id));
  }

  async #flushUnlessBatched(run: { trace_id?: string; dotted_order?: string }): Promise<void> {
    if (run.trace_id === undefined || run.dotted_order === undefined) {
      await this.flush();
    }
  }

  /**
   * Applies the anonymizer to the error, which Millrace's filters do not change, and removes the tokens from the
   * events.
   */
  #mask(run: KVMap): KVMap {
    const { anonymizer } = this.config;
    const error: unknown = run["error"];
    const masked = withoutTokens(run);
    if (anonymizer === undefined || typeof error !== "string") {
      return masked;
    }
    try {
      const text: unknown = (anonymizer({ error }) as KVMap)["error"];
      return { ...masked, error: typeof text === "string" ? text : "[hidden]" };
    } catch {
      return { ...masked, error: "[hidden: the anonymizer threw]" };
    }
  }
}

/**
 * Removes the tokens of a stream from the events of a run. The outputs contain the tokens, too, and the filters apply
 * only to the outputs.
 */
function withoutTokens(run: KVMap): KVMap {
  const events: unknown = run["events"];
  if (!Array.isArray(events) || events.every((event) => !isTokenEvent(event))) {
    return run;
  }
  const kept = events.map((event: unknown) => {
    if (!isTokenEvent(event)) {
      return event;
    }
    const { kwargs: _, ...others } = event;
    return others;
  });
  return { ...run, events: kept };
}

const isTokenEvent = (event: unknown): event is { readonly kwargs?: unknown } =>
  typeof event === "object" && event !== null && Reflect.get(event, "name") === "new_token";

const toList = (value: string | string[] | undefined): string[] | undefined =>
  value === undefined ? undefined : [value].flat();

const flatten = (run: Run): Run[] => {
  const { child_runs: children = [], ...fields } = run;
  return [fields, ...children.flatMap(flatten)];
};

function warnOfReplica(options: ReplicaOptions | undefined): void {
  if (options?.apiUrl !== undefined || options?.apiKey !== undefined) {
    warnOnce("The options apiUrl and apiKey of one run have no effect: create another Client.");
  }
}

function requireProject(
  method: string,
  { projectId, projectName }: { projectId?: string; projectName?: string },
): void {
  if (projectId === undefined && projectName === undefined) {
    throw new Error(`${method} needs a project: pass projectId or projectName.`);
  }
}

function summarizeThread(threadId: string, unsorted: Run[]): ListThreadsItem {
  const runs = unsorted.toSorted((left, right) =>
    String(left.start_time) < String(right.start_time) ? -1 : 1,
  );
  const [firstRun] = runs;
  const lastRun = runs.at(-1);
  const latencies = runs
    .map((run) => Date.parse(String(run.end_time)) - Date.parse(String(run.start_time)))
    .filter((milliseconds) => Number.isFinite(milliseconds))
    .toSorted((left, right) => left - right);
  const quantile = (fraction: number): number =>
    (latencies[Math.ceil(fraction * latencies.length) - 1] ?? 0) / 1_000;
  const costs = runs
    .map((run) => Number(Reflect.get(run, "total_cost") ?? Number.NaN))
    .filter((cost) => Number.isFinite(cost));
  return {
    thread_id: threadId,
    runs,
    count: runs.length,
    filter: `eq(thread_id, ${JSON.stringify(threadId)})`,
    total_tokens: runs.reduce((total, run) => total + (run.total_tokens ?? 0), 0),
    total_cost: costs.length === 0 ? null : costs.reduce((total, cost) => total + cost, 0),
    min_start_time: String(firstRun?.start_time),
    max_start_time: String(lastRun?.start_time),
    latency_p50: quantile(0.5),
    latency_p99: quantile(0.99),
    feedback_stats: null,
    first_inputs: JSON.stringify(firstRun?.inputs ?? {}),
    last_outputs: JSON.stringify(lastRun?.outputs ?? {}),
    last_error: lastRun?.error ?? null,
  };
}

/** Whether the server has responded that a resource does not exist. */
export const isNotFound = (error: unknown): boolean => error instanceof NotFoundError;
