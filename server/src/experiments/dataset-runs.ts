import type { WithLinks } from "../http/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import type { CheckedFilter } from "../filter/checker.ts";
import { runFields } from "../filter/fields.ts";
import { Maybe } from "../http/schema-parts.ts";
import { serverLimits } from "../model/options.ts";
import type { RunFilter, RunPosition } from "../runs/run-query.ts";
import type { StoredRun } from "../runs/run-row.ts";
import { assertExperimentsOnDataset } from "./experiment-check.ts";
import type { ExperimentStore } from "./experiment-store.ts";
import {
  allMembers,
  toExampleJson,
  toJsonListInSlices,
} from "../datasets/examples/example-json.ts";
import { toRunJson } from "../runs/serializers/run-json.ts";
import { findDataset } from "../datasets/dataset-handlers.ts";
import { createAttachmentLinker, sendJson } from "../datasets/examples/example-handlers.ts";
import { createFileLinker } from "../runs/handlers/run-handlers.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { firstValue, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** Body of `POST /datasets/{id}/runs`. Unknown members are ignored. */
export const datasetRunsBody = Type.Object({
  session_ids: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 100 }),
  example_ids: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 10_000 })),
  /** Filter expressions by session id. The runs of a session must match all of its expressions. */
  filters: Maybe(Type.Record(Type.String(), Type.Array(Type.String(), { maxItems: 20 }))),
  /** If set, the runs contain only the feedback that belongs to this comparison. */
  comparative_experiment_id: Maybe(Type.String({ maxLength: 64 })),
  limit: Maybe(Type.Integer({ minimum: 1, maximum: serverLimits.datasetsMax })),
  offset: Maybe(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});

export type DatasetRunsBody = Static<typeof datasetRunsBody>;

/**
 * `POST /datasets/{id}/runs`: lists examples in the order of creation, each with its root runs from the requested
 * sessions. Session is the API's name for a project, such as an experiment.
 */
export async function readDatasetRuns(
  { store, links }: WithLinks<ExperimentStore>,
  request: FastifyRequest<{ Body: DatasetRunsBody }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { body, tenantId } = request;
  if ((firstValue(request.query as QueryString, "format") ?? "") !== "") {
    throw new RequestError(422, "format is not supported: remove it; the response is JSON");
  }
  const { id: datasetId } = await findDataset(store, request);
  const filters = createSessionFilters(body);
  await assertExperimentsOnDataset(store, tenantId, {
    experimentIds: filters.flatMap(({ projectIds }) => projectIds ?? []),
    datasetId,
  });
  const ids = body.example_ids?.map((id) => parseId(id, "example_ids"));
  const examples = await store.read.examples.list(tenantId, {
    filter: { datasetId, versionTime: null, ...(ids === undefined ? {} : { ids }) },
    order: "recently_created",
    isDescending: false,
    seed: 0,
    limit: body.limit ?? serverLimits.datasetsDefault,
    offset: body.offset ?? 0,
  });
  const exampleIds = examples.map(({ id }) => id);
  const runs = await Promise.all(
    filters.map((filter) =>
      readAllRuns(store, tenantId, { ...filter, referenceExampleIds: exampleIds, isRoot: true }),
    ),
  );
  const runsByExample = await serializeRunsByExample({ store, links }, request, runs.flat());
  const view = { select: allMembers, createAttachmentUrl: createAttachmentLinker(links, request) };
  const items = examples.map((example) => {
    const exampleRuns = runsByExample.get(example.id) ?? [];
    return `${toExampleJson(example, view).slice(0, -1)},"runs":[${exampleRuns.join(",")}]}`;
  });
  return sendJson(reply, await toJsonListInSlices(items, (item) => item));
}

/** Creates a filter for the runs of each session, in the order of the session ids. */
function createSessionFilters({
  session_ids: ids,
  filters,
}: DatasetRunsBody): readonly RunFilter[] {
  return [...new Set(ids)].map((sessionId) => {
    const projectIds = [parseId(sessionId, "session_ids")];
    const runFilters = (filters?.[sessionId] ?? [])
      .map((text) => readFilter(runFields, "filters", text))
      .filter((filter): filter is CheckedFilter => filter !== undefined);
    return { projectIds, runFilters };
  });
}

async function readAllRuns(
  store: ExperimentStore,
  tenantId: string,
  filter: RunFilter,
): Promise<readonly StoredRun[]> {
  const runs: StoredRun[] = [];
  let after: RunPosition | undefined;
  do {
    const page = await store.read.runs.query(tenantId, {
      filter,
      order: "asc",
      limit: serverLimits.queryMax,
      withChildren: false,
      ...(after === undefined ? {} : { after }),
    });
    runs.push(...page.runs);
    after = page.nextPosition;
  } while (after !== undefined);
  return runs;
}

/** Serializes runs, and groups them by the id of the example on which each run was executed. */
async function serializeRunsByExample(
  { store, links }: WithLinks<ExperimentStore>,
  request: FastifyRequest<{ Body: DatasetRunsBody }>,
  runs: readonly StoredRun[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { tenantId, body } = request;
  const name = "comparative_experiment_id";
  const comparativeId = body[name] ? parseId(body[name], name) : undefined;
  const ids = runs.map(({ row }) => row.id);
  const stats = await store.read.feedback.readStatsOfRuns(tenantId, ids, comparativeId);
  const link = createFileLinker(links, request);
  const groups = new Map<string, string[]>();
  for (const run of runs) {
    const { id, referenceExampleId } = run.row;
    const group = groups.get(referenceExampleId ?? "") ?? [];
    groups.set(referenceExampleId ?? "", group);
    group.push(toRunJson(run, { feedbackStats: stats.get(id), link }).toString());
  }
  return groups;
}
