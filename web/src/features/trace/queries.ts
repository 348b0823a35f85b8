import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getBlob, getJson, postJson, streamJsonLines } from "../../api/http.ts";
import { toRecord } from "../../api/parse.ts";
import { parseAttachments } from "../../components/payload/attachment.ts";
import type { Attachment } from "../../components/payload/attachment.ts";
import { openDocument } from "../../components/payload/large-payload.ts";
import type { ProjectAddress } from "../runs/run-list-search.ts";
import { parseRunDetails } from "../runs/run.ts";
import type { RunDetails } from "../runs/run.ts";
import { parseRunCost } from "./run-panel/run-cost.ts";
import type { RunCost } from "./run-panel/run-cost.ts";
import { parseTraceColumns } from "./trace-columns.ts";
import { isGrowing, createTraceBuilder } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

const queryPath = toEndpointPath("/runs/query");

/** The interval, in milliseconds, at which a trace is queried again while any of its runs has not ended. */
const refreshMs = 1_000;
/**
 * The interval for a trace of more than {@link largeTraceRuns} runs. It is longer, because computing the layout of such
 * a trace takes longer.
 */
const largeTraceRefreshMs = 3_000;
const largeTraceRuns = 10_000;
/** The interval for a trace without runs. Its runs may not have reached the server yet. */
const emptyTraceRefreshMs = 2_000;
/** The maximum number of runs of one trace that the UI loads. The view shows a note if the trace has more. */
export const traceRunLimit = 200_000;

/** The part of a trace that has been loaded. */
export interface LoadedTrace {
  readonly model: TraceModel;
  /** Identifies the latest change in the response. The next request sends it as `since`, to get only later changes. */
  readonly mark: number;
  /** Whether there are more runs than {@link traceRunLimit}. */
  readonly isTruncated: boolean;
  /** When the trace was loaded, by this browser's clock. */
  readonly readMs: number;
}

/** All runs of a trace, without their payloads. While any run has not ended, the query polls for changed runs. */
export const createTraceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal, client, queryKey }) => {
      const loadedTrace = client.getQueryData<LoadedTrace>(queryKey);
      return readTrace(toEndpointPath("/ui/traces/:id", { id: traceId }), loadedTrace, signal);
    },
    ...traceRefresh,
  });

/** All runs of a trace to which a share token gives access, without their payloads. */
export const createSharedTraceQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared-trace", token],
    queryFn: async ({ signal, client, queryKey }) => {
      const loadedTrace = client.getQueryData<LoadedTrace>(queryKey);
      return readTrace(toEndpointPath("/ui/public/:token/trace", { token }), loadedTrace, signal);
    },
    ...traceRefresh,
  });

const traceRefresh = {
  // Structural sharing would compare every run of two models. `TraceBuilder` returns the same model if nothing changed.
  structuralSharing: false,
  refetchInterval: ({ state: { data } }: { state: { data: LoadedTrace | undefined } }) => {
    if (data === undefined || data.model.count === 0) {
      return emptyTraceRefreshMs;
    }
    if (!isGrowing(data.model)) {
      return false;
    }
    return data.model.count > largeTraceRuns ? largeTraceRefreshMs : refreshMs;
  },
} as const;

async function readTrace(
  path: string,
  loadedTrace: LoadedTrace | undefined,
  signal: AbortSignal,
): Promise<LoadedTrace> {
  const isNew = loadedTrace === undefined || loadedTrace.model.count === 0;
  const builder = createTraceBuilder(isNew ? undefined : loadedTrace.model);
  let mark: number | undefined;
  let isTruncated = !isNew && loadedTrace.isTruncated;
  // Each line is parsed and added while the server writes the next one.
  for await (const line of streamJsonLines(
    isNew ? path : `${path}?since=${loadedTrace.mark}`,
    signal,
  )) {
    const page = parseTraceColumns(line);
    builder.add(page);
    // Use the mark of the first line, so that the next request also finds runs that changed during this one.
    mark ??= page.mark;
    if (builder.runCount >= traceRunLimit) {
      isTruncated ||= page.next !== undefined;
      break;
    }
  }
  return { model: builder.build(), mark: mark ?? 0, isTruncated, readMs: Date.now() };
}

/** A run with its payloads. Large members stay in the memory of a worker thread, which parses them. */
export interface TraceRunDetails extends RunDetails {
  readonly files: readonly Attachment[];
  readonly projectId: string | undefined;
  /** The id in the run's metadata that names its thread, as the server reports it. */
  readonly threadId: string | undefined;
  readonly referenceExampleId: string | undefined;
  readonly firstTokenMs: number | undefined;
  readonly tokens: Readonly<Record<"prompt" | "completion" | "total", number>>;
  readonly cost: RunCost;
  readonly serialized: unknown;
  /** The runtime environment of the run, and its metadata. */
  readonly extra: unknown;
  /**
   * The recorded events: the same array as `events` or, if the events are large, a reference to a value in the memory
   * of a worker.
   */
  readonly allEvents: unknown;
  readonly shareToken: string | undefined;
  readonly tenantId: string | undefined;
}

/** The interval, in milliseconds, at which a run is queried again while it has not ended. */
const unfinishedRunRefreshMs = 2_000;

export const createTraceRunQuery = (id: string) =>
  queryOptions({
    queryKey: ["trace-run", id],
    queryFn: async ({ signal }) => readRun(toEndpointPath("/ui/trace-runs/:id", { id }), signal),
    ...runRefresh,
  });

/** A run of a trace to which a share token gives access, with its payloads. */
const createSharedTraceRunQuery = (token: string, id: string) =>
  queryOptions({
    queryKey: ["shared-trace", token, "run", id],
    queryFn: async ({ signal }) =>
      readRun(toEndpointPath("/ui/public/:token/runs/:id", { token, id }), signal),
    ...runRefresh,
  });

/** Where a trace is read from: its project, or a share link, which gives access to the runs of this trace only. */
export type TraceSource =
  | { readonly kind: "project"; readonly address: ProjectAddress }
  | { readonly kind: "share"; readonly token: string };

export const createSourceRunQuery = (source: TraceSource, id: string) =>
  source.kind === "project" ? createTraceRunQuery(id) : createSharedTraceRunQuery(source.token, id);

const runRefresh = {
  structuralSharing: false,
  refetchInterval: ({ state: { data } }: { state: { data: TraceRunDetails | undefined } }) =>
    data?.status === "pending" ? unfinishedRunRefreshMs : false,
} as const;

/** The token of the link to a whole trace; `null` if the trace is not shared. */
export const createTraceShareQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["trace-share", traceId],
    queryFn: async ({ signal }): Promise<string | null> => {
      const path = toEndpointPath("/ui/traces/:id/share", { id: traceId });
      const token = toRecord(await getJson(path, signal))["share_token"];
      return typeof token === "string" ? token : null;
    },
    staleTime: 60_000,
  });

/** The run to which a share token gives access. */
export const createSharedRunQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared-run", token],
    queryFn: async ({ signal }) => readRun(toEndpointPath("/public/:token/run", { token }), signal),
    structuralSharing: false,
  });

async function readRun(path: string, signal: AbortSignal): Promise<TraceRunDetails> {
  const blob = await getBlob(path, signal);
  const value = (await openDocument(await blob.arrayBuffer())) as Readonly<Record<string, unknown>>;
  const readText = (name: string): string | undefined =>
    typeof value[name] === "string" ? value[name] : undefined;
  const readCount = (name: string): number => Number(value[name] ?? 0);
  const firstTokenTime = readText("first_token_time");
  return {
    ...parseRunDetails(value),
    files: parseAttachments(value["s3_urls"]),
    projectId: readText("session_id"),
    threadId: readText("thread_id"),
    referenceExampleId: readText("reference_example_id"),
    firstTokenMs: firstTokenTime === undefined ? undefined : Date.parse(firstTokenTime),
    tokens: {
      prompt: readCount("prompt_tokens"),
      completion: readCount("completion_tokens"),
      total: readCount("total_tokens"),
    },
    cost: parseRunCost(value),
    serialized: value["serialized"] ?? undefined,
    extra: value["extra"] ?? undefined,
    allEvents: value["events"] ?? undefined,
    shareToken: readText("share_token"),
    tenantId: /^\/o\/([^/]+)\//.exec(readText("app_path") ?? "")?.[1],
  };
}

/** The reference outputs of an example; `null` if it has none. */
export const createReferenceQuery = (exampleId: string) =>
  queryOptions({
    queryKey: ["example", exampleId, "reference"],
    queryFn: async ({ signal }): Promise<unknown> => {
      const example = await getJson(toEndpointPath("/examples/:id", { id: exampleId }), signal);
      return toRecord(example)["outputs"] ?? null;
    },
    enabled: exampleId !== "",
  });

const maxContentMatches = 1_000;
/** The minimum length of a text for which payloads are searched. Shorter texts match nearly every run. */
export const minContentChars = 3;

/** The ids of the runs of a trace whose payload contains the text, up to 1,000. */
export const createContentSearchQuery = (traceId: string, text: string) =>
  queryOptions({
    queryKey: ["trace", traceId, "content", text],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const body = { trace: traceId, query: text, select: ["id"], limit: maxContentMatches };
      const { runs } = (await postJson(queryPath, body, signal)) as { runs: { id: string }[] };
      return runs.map(({ id }) => id);
    },
    enabled: text.length >= minContentChars,
    staleTime: 10_000,
  });

/** The longest run name, in characters, that is sent in a filter. */
const maxFilterNameChars = 500;

/** The id of the latest earlier run in the project with the same name as this run; `null` if there is none. */
export const createPreviousRunQuery = ({ id, name, startMs, projectId }: TraceRunDetails) =>
  queryOptions({
    queryKey: ["trace-run", id, "previous"],
    queryFn: async ({ signal }): Promise<string | null> => {
      const body = {
        session: [projectId],
        filter: `eq(name, ${JSON.stringify(name)})`,
        end_time: new Date(startMs).toISOString(),
        select: ["id"],
        order: "desc",
        limit: 2,
      };
      const { runs } = (await postJson(queryPath, body, signal)) as { runs: { id: string }[] };
      return runs.find((run) => run.id !== id)?.id ?? null;
    },
    enabled: projectId !== undefined && name.length <= maxFilterNameChars,
    staleTime: 60_000,
  });
