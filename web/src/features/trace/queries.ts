import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getBlob, getJson, postJson } from "../../api/http.ts";
import { parseAttachments } from "../../components/payload/attachment.ts";
import type { Attachment } from "../../components/payload/attachment.ts";
import { openDocument } from "../../components/payload/large-payload.ts";
import { parseRunDetails } from "../runs/run.ts";
import type { RunDetails } from "../runs/run.ts";
import { parseTraceColumns } from "./trace-columns.ts";
import type { TraceColumns } from "./trace-columns.ts";
import { growTrace, isGrowing } from "./trace-model.ts";
import type { TraceModel } from "./trace-model.ts";

const queryPath = endpointPath("/runs/query");

/** How often a trace with open runs is queried again. */
const refreshMs = 1_000;
/**
 * How often a trace of more than {@link largeTraceRuns} runs is queried again while it has open runs: its layout
 * takes longer to compute.
 */
const largeTraceRefreshMs = 3_000;
const largeTraceRuns = 10_000;
/** How often a trace without runs is queried again: its runs may still be on their way to the server. */
const emptyTraceRefreshMs = 2_000;
/** The most runs of one trace that the UI loads. The view says so when the trace has more. */
export const traceRunLimit = 200_000;

/** The loaded part of a trace. */
export interface LoadedTrace {
  readonly model: TraceModel;
  /** Sent as `since` with the next request, which then returns only the runs that changed. */
  readonly mark: number;
  /** Whether there are more runs than {@link traceRunLimit}. */
  readonly isTruncated: boolean;
  /** When the trace was loaded, by this browser's clock. */
  readonly readMs: number;
}

/** All runs of a trace, without their payloads. While one of them is open, the query repeats for what changed. */
export const traceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal, client, queryKey }) => {
      const loaded = client.getQueryData<LoadedTrace>(queryKey);
      return readTrace(traceId, loaded, signal);
    },
    // A comparison of two models would read every run. `growTrace` returns the same model when nothing changed.
    structuralSharing: false,
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined || data.model.count === 0) {
        return emptyTraceRefreshMs;
      }
      if (!isGrowing(data.model)) {
        return false;
      }
      return data.model.count > largeTraceRuns ? largeTraceRefreshMs : refreshMs;
    },
  });

async function readTrace(
  traceId: string,
  loaded: LoadedTrace | undefined,
  signal: AbortSignal,
): Promise<LoadedTrace> {
  const isNew = loaded === undefined || loaded.model.count === 0;
  const since = isNew ? "" : `&since=${loaded.mark}`;
  const pages: TraceColumns[] = [];
  let runs = isNew ? 0 : loaded.model.count;
  let after = "";
  do {
    const path = endpointPath("/ui/traces/:id", { id: traceId });
    // Sequential: each response contains the cursor of the next page.
    const page = parseTraceColumns(await getJson(`${path}?${after}${since}`, signal));
    pages.push(page);
    runs += page.count;
    after = page.next === undefined ? "" : `after=${page.next}`;
  } while (after !== "" && runs < traceRunLimit);
  return {
    model: growTrace(isNew ? undefined : loaded.model, pages),
    // The mark of the first page, so that changes made while the other pages were read are found next time.
    mark: pages[0]?.mark ?? 0,
    isTruncated: after !== "" || (!isNew && loaded.isTruncated),
    readMs: Date.now(),
  };
}

/** A run with its payloads. A worker thread parses and keeps large members. */
export interface TraceRunDetails extends RunDetails {
  readonly files: readonly Attachment[];
  readonly projectId: string | undefined;
  readonly referenceExampleId: string | undefined;
  readonly firstTokenMs: number | undefined;
  readonly tokens: Readonly<Record<"prompt" | "completion" | "total", number>>;
  readonly cost: string | undefined;
  readonly serialized: unknown;
  /** The runtime environment of the run, and its metadata. */
  readonly extra: unknown;
  /** The events as recorded: an array like `events`, or a value that a worker keeps if they are large. */
  readonly allEvents: unknown;
  readonly shareToken: string | undefined;
  readonly tenantId: string | undefined;
}

/** How often an open run is queried again. */
const openRunRefreshMs = 2_000;

export const traceRunQuery = (id: string) =>
  queryOptions({
    queryKey: ["trace-run", id],
    queryFn: async ({ signal }) => readRun(endpointPath("/ui/trace-runs/:id", { id }), signal),
    structuralSharing: false,
    refetchInterval: ({ state: { data } }) =>
      data?.status === "pending" ? openRunRefreshMs : false,
  });

/** The run that a share token gives access to. */
export const sharedRunQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared-run", token],
    queryFn: async ({ signal }) => readRun(endpointPath("/public/:token/run", { token }), signal),
    structuralSharing: false,
  });

async function readRun(path: string, signal: AbortSignal): Promise<TraceRunDetails> {
  const blob = await getBlob(path, signal);
  const value = (await openDocument(await blob.arrayBuffer())) as Readonly<Record<string, unknown>>;
  const text = (name: string): string | undefined =>
    typeof value[name] === "string" ? value[name] : undefined;
  const count = (name: string): number => Number(value[name] ?? 0);
  const firstToken = text("first_token_time");
  return {
    ...parseRunDetails(value),
    files: parseAttachments(value["s3_urls"]),
    projectId: text("session_id"),
    referenceExampleId: text("reference_example_id"),
    firstTokenMs: firstToken === undefined ? undefined : Date.parse(firstToken),
    tokens: {
      prompt: count("prompt_tokens"),
      completion: count("completion_tokens"),
      total: count("total_tokens"),
    },
    cost: text("total_cost"),
    serialized: value["serialized"] ?? undefined,
    extra: value["extra"] ?? undefined,
    allEvents: value["events"] ?? undefined,
    shareToken: text("share_token"),
    tenantId: /^\/o\/([^/]+)\//.exec(text("app_path") ?? "")?.[1],
  };
}

const contentLimit = 1_000;
/** The least number of characters in a search of payloads. Shorter texts match nearly every run. */
export const minContentChars = 3;

/** The ids of the runs of a trace whose payload contains the text, up to 1,000. */
export const contentSearchQuery = (traceId: string, text: string) =>
  queryOptions({
    queryKey: ["trace", traceId, "content", text],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const body = { trace: traceId, query: text, select: ["id"], limit: contentLimit };
      const { runs } = (await postJson(queryPath, body, signal)) as { runs: { id: string }[] };
      return runs.map(({ id }) => id);
    },
    enabled: text.length >= minContentChars,
    staleTime: 10_000,
  });

/** The longest run name, in characters, that is sent in a filter. */
const filterNameChars = 500;

/** The id of the latest earlier run in the project with the same name as this run; `null` if there is none. */
export const previousRunQuery = ({ id, name, startMs, projectId }: TraceRunDetails) =>
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
    enabled: projectId !== undefined && name.length <= filterNameChars,
    staleTime: 60_000,
  });
