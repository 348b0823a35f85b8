import type { WithLinks } from "../http/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { serverLimits } from "../model/options.ts";
import type { Example } from "../datasets/examples/example.ts";
import { assertExperimentsOnDataset } from "../experiments/experiment-check.ts";
import { allMembers, toExampleJson } from "../datasets/examples/example-json.ts";
import { findDataset } from "../datasets/dataset-handlers.ts";
import { createAttachmentLinker } from "../datasets/examples/example-handlers.ts";
import { runFields } from "../filter/fields.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { parseId } from "../http/query-string.ts";
import { pageMembers, toPageSize, parseOffset, sendPage } from "./v2-page.ts";
import { parseSelects, readV2Runs } from "./v2-runs.ts";

const Ids = (maxItems: number) => Type.Array(Type.String({ maxLength: 64 }), { maxItems });

/** Body of `POST /api/v2/datasets/{id}/experiment-runs`. */
export const v2ExperimentRunsBody = Type.Object({
  experiment_ids: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 100 }),
  example_ids: Maybe(Ids(1_000)),
  /** Filter expressions by experiment id. The runs of an experiment must match all of its expressions. */
  filters: Maybe(Type.Record(Type.String(), Type.Array(Type.String(), { maxItems: 20 }))),
  comparative_experiment_id: Maybe(Type.String({ maxLength: 64 })),
  selects: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200 })),
  sort: Maybe(
    Type.Object({
      by: Maybe(Type.String({ maxLength: 1_000 })),
      order: Maybe(Type.String({ maxLength: 4 })),
    }),
  ),
  ...pageMembers,
});

type Body = Static<typeof v2ExperimentRunsBody>;
type ExperimentRunsRequest = FastifyRequest<{ Body: Body }>;

/**
 * `POST /api/v2/datasets/{id}/experiment-runs`: returns a page of examples, each with the root runs of the
 * experiments on it.
 */
export async function queryV2ExperimentRuns(
  dependencies: WithLinks<Store>,
  request: ExperimentRunsRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body } = request;
  const { id: datasetId } = await findDataset(dependencies.store, request);
  const experimentIds = [
    ...new Set(body.experiment_ids.map((id) => parseId(id, "experiment_ids"))),
  ];
  await assertExperimentsOnDataset(dependencies.store, request.tenantId, {
    experimentIds,
    datasetId,
  });
  const selects = parseSelects(body.selects ?? []);
  const [offset, size] = [parseOffset(body.cursor), toPageSize(body.page_size)];
  const listedExamples = await listExamples(dependencies, request, {
    datasetId,
    offset,
    limit: size + 1,
  });
  const examples = listedExamples.slice(0, size);
  const ids = examples.map(({ id }) => id);
  const runJsonByExample = new Map<string, string[]>();
  for (const experiment of new Set(body.experiment_ids)) {
    await addRuns(dependencies, request, {
      experimentId: experiment,
      exampleIds: ids,
      selects,
      runs: runJsonByExample,
    });
  }
  const view = {
    select: allMembers,
    createAttachmentUrl: createAttachmentLinker(dependencies.links, request),
  };
  const items = examples.map((example) => {
    const json = toExampleJson(example, view).slice(0, -1);
    return Buffer.from(`${json},"runs":[${(runJsonByExample.get(example.id) ?? []).join(",")}]}`);
  });
  return sendPage(request, reply, {
    items,
    nextCursor: listedExamples.length > size ? String(offset + size) : null,
  });
}

interface ExampleRange {
  readonly datasetId: string;
  readonly offset: number;
  readonly limit: number;
}

/** Lists examples in the order of creation, or by a feedback score. */
async function listExamples(
  { store }: WithLinks<Store>,
  { body, tenantId }: ExperimentRunsRequest,
  { datasetId, offset, limit }: ExampleRange,
): Promise<readonly Example[]> {
  const requestedIds = body.example_ids?.map((id) => parseId(id, "example_ids"));
  const readExamples = (
    ids: readonly string[] | undefined,
    from: number,
  ): Promise<readonly Example[]> =>
    store.read.examples.list(tenantId, {
      filter: { datasetId, versionTime: null, ...(ids === undefined ? {} : { ids }) },
      order: "recently_created",
      isDescending: false,
      seed: 0,
      limit,
      offset: from,
    });
  const feedbackKey = body.sort?.by?.replace(/^feedback\./, "");
  if (feedbackKey === undefined) {
    return readExamples(requestedIds, offset);
  }
  const [baselineId, ...otherIds] = body.experiment_ids.map((id) => parseId(id, "experiment_ids"));
  if (baselineId === undefined || otherIds.length > 0) {
    throw new RequestError(
      422,
      "sort works with a single experiment: pass one id in experiment_ids",
    );
  }
  const { examples } = await store.read.experiments.compare(tenantId, {
    experimentIds: [baselineId],
    baselineId,
    key: feedbackKey,
    comparativeId: readComparativeId(body),
    lowerIsBetter: new Set(),
    order: "run",
    subset: "all",
    limit: Number.MAX_SAFE_INTEGER,
    offset: 0,
  });
  const direction = body.sort?.order?.toUpperCase() === "ASC" ? 1 : -1;
  const sortedIds = examples
    .filter(({ exampleId }) => requestedIds?.includes(exampleId) ?? true)
    .map(({ exampleId, scores }) => ({
      exampleId,
      score: scores.get(baselineId)?.get(feedbackKey),
    }))
    // Examples without a score come last, whether the order is ascending or descending.
    .toSorted(({ score: a }, { score: b }) =>
      a === undefined || b === undefined
        ? Number(a === undefined) - Number(b === undefined)
        : direction * (a - b),
    )
    .slice(offset, offset + limit)
    .map(({ exampleId }) => exampleId);
  const examplesById = new Map(
    (await readExamples(sortedIds, 0)).map((example) => [example.id, example]),
  );
  return sortedIds.flatMap((id) => examplesById.get(id) ?? []);
}

interface AddRunsOptions {
  readonly experimentId: string;
  readonly exampleIds: readonly string[];
  readonly selects: readonly string[];
  /** The JSON texts of runs by example id. {@link addRuns} adds runs to this map. */
  readonly runs: Map<string, string[]>;
}

async function addRuns(
  dependencies: WithLinks<Store>,
  request: ExperimentRunsRequest,
  { experimentId, exampleIds, selects, runs }: AddRunsOptions,
): Promise<void> {
  const { body } = request;
  const filters = (body.filters?.[experimentId] ?? [])
    .map((text) => readFilter(runFields, "filters", text))
    .filter((filter) => filter !== undefined);
  let cursor: string | null = null;
  do {
    const page = await readV2Runs(dependencies, request, {
      v1Query: {
        session: [parseId(experimentId, "experiment_ids")],
        reference_example: [...exampleIds],
        is_root: true,
        order: "asc",
        limit: serverLimits.queryMax,
        cursor,
      },
      selects,
      filters,
      parts: ["referenceExampleId"],
      comparativeId: readComparativeId(body),
    });
    for (const [index, { row }] of page.runs.entries()) {
      const example = row.referenceExampleId ?? "";
      const json = page.items[index]?.toString() ?? "{}";
      runs.set(example, [...(runs.get(example) ?? []), json]);
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
}

const readComparativeId = ({ comparative_experiment_id: id }: Body): string | undefined =>
  id === undefined || id === null ? undefined : parseId(id, "comparative_experiment_id");
