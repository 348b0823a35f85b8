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

const growMs = 1_000;
/** A large trace costs more to lay out anew. */
const largeGrowMs = 3_000;
const largeTrace = 10_000;
/** While no run of a trace is known: it may be on its way. */
const absentMs = 2_000;
/** Runs of one trace that the page holds; what is beyond is left out, and said. */
export const traceRunLimit = 200_000;

/** A trace as it is known, and the mark from which on changes are asked for. */
export interface KnownTrace {
  readonly model: TraceModel;
  readonly mark: number;
  /** Whether there are more runs than {@link traceRunLimit}. */
  readonly isCut: boolean;
  /** When it was read, by the reader's clock. */
  readonly readMs: number;
}

/** All runs of a trace without what they hold; while one of them is open, again and again what changed. */
export const traceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal, client, queryKey }) => {
      const known = client.getQueryData<KnownTrace>(queryKey);
      return readTrace(traceId, known, signal);
    },
    // The model is compared by what came, not by a walk through it.
    structuralSharing: false,
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined || data.model.count === 0) {
        return absentMs;
      }
      if (!isGrowing(data.model)) {
        return false;
      }
      return data.model.count > largeTrace ? largeGrowMs : growMs;
    },
  });

async function readTrace(
  traceId: string,
  known: KnownTrace | undefined,
  signal: AbortSignal,
): Promise<KnownTrace> {
  const isNew = known === undefined || known.model.count === 0;
  const since = isNew ? "" : `&since=${known.mark}`;
  const pages: TraceColumns[] = [];
  let runs = isNew ? 0 : known.model.count;
  let after = "";
  do {
    const path = endpointPath("/ui/traces/:id", { id: traceId });
    // One after the other: each response contains where the next page begins.
    const page = parseTraceColumns(await getJson(`${path}?${after}${since}`, signal));
    pages.push(page);
    runs += page.count;
    after = page.next === undefined ? "" : `after=${page.next}`;
  } while (after !== "" && runs < traceRunLimit);
  return {
    model: growTrace(isNew ? undefined : known.model, pages),
    // That of the first page: what changed while the rest was read is found again.
    mark: pages[0]?.mark ?? 0,
    isCut: after !== "" || (!isNew && known.isCut),
    readMs: Date.now(),
  };
}

/** A run with what it holds; large members are parsed, and kept, by a worker. */
export interface TraceRunDetails extends RunDetails {
  readonly files: readonly Attachment[];
  readonly projectId: string | undefined;
  readonly referenceExampleId: string | undefined;
  readonly firstTokenMs: number | undefined;
  readonly tokens: Readonly<Record<"prompt" | "completion" | "total", number>>;
  readonly cost: string | undefined;
  readonly serialized: unknown;
  /** What is known of where it ran, and its metadata. */
  readonly extra: unknown;
  /** The same as `events`, where they are few enough for that. */
  readonly allEvents: unknown;
  readonly shareToken: string | undefined;
  readonly tenantId: string | undefined;
}

const openRunMs = 2_000;

export const traceRunQuery = (id: string) =>
  queryOptions({
    queryKey: ["trace-run", id],
    queryFn: async ({ signal }) => readRun(endpointPath("/ui/trace-runs/:id", { id }), signal),
    structuralSharing: false,
    refetchInterval: ({ state: { data } }) => (data?.status === "pending" ? openRunMs : false),
  });

/** The run behind the token of a share. */
export const sharedRunQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared-run", token],
    queryFn: async ({ signal }) =>
      readRun(endpointPath("/public/:token/run", { token: token }), signal),
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
/** Shorter texts are everywhere: to look for them would only keep the server busy. */
export const contentChars = 3;

/** Ids of the runs of a trace that hold a text in their payload, up to 1,000. */
export const contentSearchQuery = (traceId: string, text: string) =>
  queryOptions({
    queryKey: ["trace", traceId, "content", text],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const body = { trace: traceId, query: text, select: ["id"], limit: contentLimit };
      const { runs } = (await postJson(queryPath, body, signal)) as { runs: { id: string }[] };
      return runs.map(({ id }) => id);
    },
    enabled: text.length >= contentChars,
    staleTime: 10_000,
  });

/** Longest name, in characters, that is sent in a filter. */
const filterChars = 500;

/** The id of the latest run of the project before a run that has its name. */
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
    enabled: projectId !== undefined && name.length <= filterChars,
    staleTime: 60_000,
  });
