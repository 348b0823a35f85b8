import type { WithLinks } from "../http/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import type { CheckedFilter } from "../filter/checker.ts";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import type { RunPart, StoredRun } from "../runs/run-row.ts";
import { toVisibleToken } from "../storage/share-token.ts";
import { findRequiredParts, toListJson } from "../runs/serializers/run-json.ts";
import { findRequiredMembers, toV2RunJson, v2RunFields } from "./v2-run-json.ts";
import type { V2View } from "./v2-run-json.ts";
import { allValues, firstValue, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import { parseRunQuery } from "../runs/handlers/run-query-body.ts";
import { toCursor } from "../runs/run-cursor.ts";
import type { RunQueryBody } from "../runs/handlers/run-query-body.ts";
import { createFileLinker } from "../runs/handlers/run-handlers.ts";
import {
  createDefaultStart,
  unsupportedMembers,
  pageMembers,
  toPageSize,
  rejectHostedOptions,
  sendPage,
} from "./v2-page.ts";

const jsonContentType = "application/json; charset=utf-8";
/** Maximum number of runs that are read together for a response that contains more than one page. */
export const maxRunsPerRead = 100;

const Ids = Type.Array(Type.String({ maxLength: 64 }), { maxItems: 10_000 });

/** Body of `POST /api/v2/runs/query`. */
export const v2RunQueryBody = Type.Object({
  project_ids: Maybe(Ids),
  reference_dataset_id: Maybe(Type.String({ maxLength: 64 })),
  ids: Maybe(Ids),
  trace_id: Maybe(Type.String({ maxLength: 64 })),
  run_type: Maybe(Type.String({ maxLength: 64 })),
  reference_examples: Maybe(Ids),
  is_root: Maybe(Type.Boolean()),
  has_error: Maybe(Type.Boolean()),
  min_start_time: Maybe(Type.String({ maxLength: 64 })),
  max_start_time: Maybe(Type.String({ maxLength: 64 })),
  filter: Maybe(Type.String()),
  trace_filter: Maybe(Type.String()),
  tree_filter: Maybe(Type.String()),
  selects: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200 })),
  ...unsupportedMembers,
  ...pageMembers,
});

export type V2RunQueryBody = Static<typeof v2RunQueryBody>;

/** Handles `POST /api/v2/runs/query`. */
export async function queryV2Runs(
  dependencies: WithLinks<Store>,
  request: FastifyRequest<{ Body: V2RunQueryBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  rejectHostedOptions(request, request.body);
  const v1Query = await toV1Query(dependencies, request);
  const selects = parseSelects(request.body.selects ?? []);
  return sendPage(request, reply, await readV2Runs(dependencies, request, { v1Query, selects }));
}

/** Converts the query to the form of the first version of the API. */
async function toV1Query(
  { store }: WithLinks<Store>,
  { body, tenantId }: FastifyRequest<{ Body: V2RunQueryBody }>,
): Promise<V1RunQuery> {
  const { project_ids: projectIds, reference_dataset_id: datasetId } = body;
  const hasProjectIds = (projectIds ?? undefined) !== undefined;
  if (hasProjectIds === ((datasetId ?? undefined) !== undefined)) {
    throw new RequestError(422, "pass either project_ids or reference_dataset_id");
  }
  const findProjectIds = (): readonly string[] | Promise<readonly string[]> =>
    Promise.resolve(
      store.read.projects.list(tenantId, {
        referenceDatasetIds: [parseId(datasetId, "reference_dataset_id")],
        limit: 1_000,
        offset: 0,
      }),
    ).then((projects) => projects.map(({ id }) => id));
  const resolvedProjectIds = [...(projectIds ?? (await findProjectIds()))];
  return {
    session: resolvedProjectIds,
    id: body.ids,
    trace: body.trace_id,
    run_type: body.run_type?.toLowerCase(),
    reference_example: body.reference_examples,
    is_root: body.is_root,
    error: body.has_error,
    // A query by dataset has no default start, because it covers all experiments on the dataset, whenever they ran.
    start_time: body.min_start_time ?? (hasProjectIds ? createDefaultStart() : undefined),
    end_time: body.max_start_time,
    filter: body.filter,
    trace_filter: body.trace_filter,
    tree_filter: body.tree_filter,
    limit: toPageSize(body.page_size),
    cursor: body.cursor,
  };
}

/** A query in the form of the first version of the API, whose members may also be `undefined`. */
export type V1RunQuery = { readonly [Name in keyof RunQueryBody]: RunQueryBody[Name] | undefined };

interface ReadRunsOptions {
  readonly v1Query: V1RunQuery;
  readonly selects: readonly string[];
  /** Filters that the runs must match in addition to those of the query. */
  readonly filters?: readonly CheckedFilter[];
  /** Parts of the runs that the caller needs in addition to the selected fields. */
  readonly parts?: readonly RunPart[];
  /** If set, only feedback that belongs to this comparison is included. */
  readonly comparativeId?: string | undefined;
}

/** Reads a page of runs as JSON, and the cursor of the next page. */
export async function readV2Runs(
  dependencies: WithLinks<Store>,
  request: Pick<FastifyRequest, "tenantId" | "baseUrl">,
  { v1Query, selects, filters = [], parts = [], comparativeId }: ReadRunsOptions,
): Promise<{
  readonly items: readonly Buffer[];
  readonly runs: readonly StoredRun[];
  readonly nextCursor: string | null;
}> {
  const { store } = dependencies;
  const { tenantId } = request;
  const definedMembers = Object.entries(v1Query).filter(([, value]) => value !== undefined);
  const { query } = parseRunQuery(Object.fromEntries(definedMembers) as RunQueryBody);
  const { runs, nextPosition } = await store.read.runs.query(tenantId, {
    ...query,
    filter:
      filters.length === 0
        ? query.filter
        : { ...query.filter, runFilters: [...(query.filter.runFilters ?? []), ...filters] },
    parts: new Set([...findRequiredParts(findRequiredMembers(["ID", ...selects])), ...parts]),
  });
  const ids = selects.includes("FEEDBACK_STATS") ? runs.map(({ row }) => row.id) : [];
  const [stats, datasets, findExtras] = await Promise.all([
    store.read.feedback.readStatsOfRuns(tenantId, ids, comparativeId),
    findDatasets(dependencies, tenantId, selects.includes("REFERENCE_DATASET_ID") ? runs : []),
    readRunExtras(dependencies, { tenantId, runs, selects }),
  ]);
  const items = runs.map((run) =>
    toV2RunJson(run, selects, {
      ...createView(dependencies, request),
      feedbackStats: stats.get(run.row.id),
      referenceDatasetId: datasets.get(run.row.projectId),
      ...findExtras(run.row.id),
    }),
  );
  return {
    items,
    runs,
    nextCursor: nextPosition === undefined ? null : toCursor(nextPosition, query.order),
  };
}

/** Data about a run from other tables. A member is present if it was selected. */
type RunExtras = Pick<V2View, "lastQueuedMicros" | "isSource" | "traceToken">;

/** Reads the extra data of a page of runs, with one query for each kind of data. */
async function readRunExtras(
  { store }: WithLinks<Store>,
  {
    tenantId,
    runs,
    selects,
  }: {
    readonly tenantId: string;
    readonly runs: readonly StoredRun[];
    readonly selects: readonly string[];
  },
): Promise<(id: string) => RunExtras> {
  const { annotationQueues, examples, shares } = store.read;
  const selectIds = (name: string): readonly string[] =>
    selects.includes(name) ? runs.map(({ row }) => row.id) : [];
  const [queuedIds, sourceIds, sharedIds] = [
    selectIds("LAST_QUEUED_AT"),
    selectIds("IS_IN_DATASET"),
    selectIds("SHARE_URL"),
  ];
  const [queued, sources, tokens] = await Promise.all([
    queuedIds.length === 0 ? undefined : annotationQueues.readLastAdded(tenantId, queuedIds),
    sourceIds.length === 0 ? [] : examples.listSources(tenantId, sourceIds),
    sharedIds.length === 0 ? undefined : shares.findTraceTokens(tenantId, sharedIds),
  ]);
  const sourceRunIds = new Set(sources);
  return (id) => ({
    lastQueuedMicros: queued?.get(id),
    isSource: sourceRunIds.has(id),
    traceToken: toVisibleToken(tokens?.get(id) ?? null) ?? undefined,
  });
}

/** Finds the dataset of each project that is an experiment, by project id. Other projects have no entry. */
async function findDatasets(
  { store }: WithLinks<Store>,
  tenantId: string,
  runs: readonly StoredRun[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(runs.map(({ row }) => row.projectId))];
  const projects =
    ids.length === 0
      ? []
      : await store.read.projects.list(tenantId, { ids, limit: ids.length, offset: 0 });
  return new Map(
    projects.flatMap(({ id, referenceDatasetId: datasetId }): [string, string][] =>
      datasetId === null ? [] : [[id, datasetId]],
    ),
  );
}

/** Handles `GET /api/v2/runs/{id}`. */
export async function readV2Run(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const selects = parseSelects(allValues(readQuery(request), "selects") ?? []);
  const { run } = await findRun(dependencies, request);
  return sendV2Run(dependencies, request, { reply, run, selects });
}

/** Sends one run to its owner or to a reader with a share token. */
export async function sendV2Run(
  dependencies: WithLinks<Store>,
  request: Pick<FastifyRequest, "baseUrl" | "tenantId">,
  {
    reply,
    run,
    selects,
  }: {
    readonly reply: FastifyReply;
    readonly run: StoredRun;
    readonly selects: readonly string[];
  },
): Promise<unknown> {
  const { id, projectId } = run.row;
  const [stats, datasets, findExtras] = await Promise.all([
    dependencies.store.read.feedback.readStatsOfRuns(run.tenantId, [id]),
    findDatasets(dependencies, run.tenantId, [run]),
    readRunExtras(dependencies, { tenantId: run.tenantId, runs: [run], selects }),
  ]);
  const view = {
    ...createView(dependencies, request),
    feedbackStats: stats.get(id),
    referenceDatasetId: datasets.get(projectId),
    ...findExtras(id),
  };
  return reply.type(jsonContentType).send(toV2RunJson(run, selects, view));
}

/** `GET /api/v2/runs/{id}/url`: returns the URL of the run in the UI. */
export async function readV2RunUrl(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
): Promise<unknown> {
  const { run, id } = await findRun(dependencies, request);
  const path = `/o/${request.tenantId}/projects/p/${run.row.projectId}/r/${id}`;
  return { url: `${request.baseUrl}${path}` };
}

/** `GET /api/v2/traces/{id}/runs`: returns all runs of a trace, by start time. */
export async function listV2TraceRuns(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = readQuery(request);
  const selects = parseSelects(allValues(query, "selects") ?? []);
  const v1Query: V1RunQuery = {
    session: [parseId(firstValue(query, "project_id"), "project_id")],
    trace: readRunId(request),
    filter: firstValue(query, "filter"),
    start_time: firstValue(query, "min_start_time"),
    end_time: firstValue(query, "max_start_time"),
    order: "asc",
    limit: maxRunsPerRead,
  };
  const items: Buffer[] = [];
  let cursor: string | null = null;
  do {
    const page = await readV2Runs(dependencies, request, {
      v1Query: { ...v1Query, cursor },
      selects,
    });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return reply.type(jsonContentType).send(toListJson("items", items, {}));
}

async function findRun(
  { store }: WithLinks<Store>,
  request: FastifyRequest,
): Promise<{ readonly run: StoredRun; readonly id: string }> {
  const id = readRunId(request);
  const run = await store.read.runs.find(request.tenantId, id);
  const requestedProjectId = firstValue(readQuery(request), "project_id");
  if (
    run === undefined ||
    (requestedProjectId !== undefined && run.row.projectId !== requestedProjectId.toLowerCase())
  ) {
    throw new RequestError(404, "Run not found");
  }
  return { run, id };
}

/**
 * Checks the names of the selected fields.
 *
 * @throws RequestError 422: there is no such field.
 */
export function parseSelects(
  selects: readonly string[],
  availableFields: readonly string[] = v2RunFields,
): readonly string[] {
  const unknownName = selects.find((name) => !availableFields.includes(name));
  if (unknownName !== undefined) {
    const quotedName = JSON.stringify(unknownName);
    throw new RequestError(
      422,
      `selects contains the unknown field ${quotedName}; available fields: ${availableFields.join(", ")}`,
    );
  }
  return selects;
}

const createView = (
  { links }: WithLinks<Store>,
  request: Pick<FastifyRequest, "baseUrl" | "tenantId">,
): V2View => ({
  link: createFileLinker(links, request),
  baseUrl: request.baseUrl,
});

/** Returns the parsed query string of a request. */
export const readQuery = (request: FastifyRequest): QueryString => request.query as QueryString;

/** Returns the run id in the path of a request. */
export const readRunId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "run id");
