import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { serverLimits } from "../model/options.ts";
import type { ExamplePreview } from "../datasets/examples/example.ts";
import type {
  ComparedExample,
  ComparedKey,
  ComparedRun,
  ExperimentTotals,
  PayloadPreview,
} from "./experiment.ts";
import type { ExperimentStore } from "./experiment-store.ts";
import { toPreviewJson } from "../datasets/examples/example-preview-json.ts";
import { findDataset } from "../datasets/dataset-handlers.ts";
import { parseId } from "../http/query-string.ts";

const Id = Type.String({ maxLength: 64 });
const Key = Type.String({ maxLength: 1_000 });

const comparisonOrders = ["regression", "improvement", "run"] as const;
const exampleSubsets = ["all", "regressions", "improvements", "errors"] as const;

/** Body of `POST /ui/datasets/{id}/comparison`. */
export const comparisonBody = Type.Object({
  experiment_ids: Type.Array(Id, { minItems: 1, maxItems: 20 }),
  baseline_id: Maybe(Id),
  /** If set, only scores of this comparison are compared; otherwise only scores that belong to no comparison. */
  comparative_id: Maybe(Id),
  key: Maybe(Key),
  lower_is_better: Maybe(Type.Array(Key, { maxItems: 100 })),
  order: Maybe(Type.Union(comparisonOrders.map((order) => Type.Literal(order)))),
  only: Maybe(Type.Union(exampleSubsets.map((subset) => Type.Literal(subset)))),
  limit: Maybe(Type.Integer({ minimum: 0, maximum: 100 })),
  offset: Maybe(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});

export type ComparisonBody = Static<typeof comparisonBody>;

const defaultPageSize = 25;

/**
 * `POST /ui/datasets/{id}/comparison`: compares experiments example by example. Returns a page of examples with the
 * beginnings of the outputs that each experiment has produced.
 */
export async function compareExperiments(
  store: ExperimentStore,
  request: FastifyRequest<{ Body: ComparisonBody }>,
): Promise<unknown> {
  const { tenantId, body } = request;
  const { id: datasetId } = await findDataset(store, request);
  const experimentIds = [
    ...new Set(body.experiment_ids.map((id) => parseId(id, "experiment_ids"))),
  ];
  const baselineId = body.baseline_id
    ? parseId(body.baseline_id, "baseline_id")
    : (experimentIds[0] ?? "");
  if (!experimentIds.includes(baselineId)) {
    throw new RequestError(422, "baseline_id must be one of experiment_ids");
  }
  await assertExperiments(store, tenantId, { ids: experimentIds, datasetId });
  const comparativeId = body.comparative_id
    ? parseId(body.comparative_id, "comparative_id")
    : undefined;
  const comparison = await store.read.experiments.compare(tenantId, {
    experimentIds,
    comparativeId,
    baselineId,
    key: body.key ?? undefined,
    lowerIsBetter: new Set(body.lower_is_better ?? []),
    order: body.order ?? "regression",
    subset: body.only ?? "all",
    limit: body.limit ?? defaultPageSize,
    offset: body.offset ?? 0,
  });
  const { examples } = comparison;
  const previews = await readPreviews(store, request, { datasetId, examples });
  const runs = await readRuns(store, request, {
    experimentIds,
    examples,
    comparativeId,
  });
  return {
    total: comparison.exampleCount,
    matching: comparison.matchingCount,
    experiments: comparison.experiments.map(toTotalsJson),
    keys: comparison.keys.map(toKeyJson),
    rows: examples.map((example) => ({
      example_id: example.exampleId,
      example: previews.get(example.exampleId) ?? null,
      worst: example.worstChange,
      best: example.bestChange,
      scores: Object.fromEntries(
        [...example.scores].map(([id, scores]) => [id, Object.fromEntries(scores)]),
      ),
      runs: Object.fromEntries(
        experimentIds.map((id) => [id, runs.get(`${id} ${example.exampleId}`) ?? []]),
      ),
    })),
  };
}

/** @throws RequestError 404: an experiment does not exist, or is on another dataset. */
async function assertExperiments(
  store: ExperimentStore,
  tenantId: string,
  { ids, datasetId }: { readonly ids: readonly string[]; readonly datasetId: string },
): Promise<void> {
  const projects = await store.read.projects.list(tenantId, {
    ids,
    referenceDatasetIds: [datasetId],
    limit: ids.length,
    offset: 0,
  });
  const existingIds = new Set(projects.map(({ id }) => id));
  const missing = ids.filter((id) => !existingIds.has(id));
  if (missing.length > 0) {
    throw new RequestError(
      404,
      `there are no experiments on this dataset with the ids ${missing.join(", ")}`,
    );
  }
}

/** The examples of one page of a comparison. */
interface ExamplePage {
  readonly examples: readonly ComparedExample[];
}

async function readPreviews(
  store: ExperimentStore,
  { tenantId }: FastifyRequest,
  { datasetId, examples }: ExamplePage & { readonly datasetId: string },
): Promise<ReadonlyMap<string, unknown>> {
  const previews: readonly ExamplePreview[] = await store.read.examples.preview(
    tenantId,
    {
      filter: { datasetId, versionTime: null, ids: examples.map(({ exampleId }) => exampleId) },
      order: "id",
      isDescending: false,
      seed: 0,
      limit: examples.length,
      offset: 0,
    },
    serverLimits.previewChars,
  );
  return new Map(previews.map((example) => [example.id, toPreviewJson(example)]));
}

/**
 * Reads the runs of each experiment on the examples of a page. Each key of the result consists of an experiment id, a
 * space and an example id.
 */
async function readRuns(
  store: ExperimentStore,
  { tenantId }: FastifyRequest,
  {
    experimentIds,
    examples,
    comparativeId,
  }: ExamplePage & {
    readonly experimentIds: readonly string[];
    readonly comparativeId: string | undefined;
  },
): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const runs = await store.read.experiments.readRuns(tenantId, {
    experimentIds,
    exampleIds: examples.map(({ exampleId }) => exampleId),
    comparativeId,
    previewChars: serverLimits.previewChars,
  });
  const groups = new Map<string, unknown[]>();
  for (const run of runs) {
    const groupKey = `${run.experimentId} ${run.exampleId}`;
    const group = groups.get(groupKey) ?? [];
    groups.set(groupKey, group);
    group.push(toRunPreviewJson(run));
  }
  return groups;
}

const toRunPreviewJson = (run: ComparedRun) => ({
  id: run.id,
  trace_id: run.traceId,
  has_error: run.hasError,
  latency_ms: run.latencyMicros === null ? null : run.latencyMicros / 1_000,
  tokens: run.usage?.tokens ?? null,
  cost: run.usage?.cost ?? null,
  outputs: toPayloadPreviewJson(run.outputs),
  error: toPayloadPreviewJson(run.error),
  scores: run.scores,
});

const toTotalsJson = (totals: ExperimentTotals) => ({
  id: totals.id,
  example_count: totals.exampleCount,
  run_count: totals.runCount,
  error_count: totals.errorCount,
});

const toKeyJson = ({ key, min, max, byExperiment }: ComparedKey) => ({
  key,
  min,
  max,
  experiments: Object.fromEntries(byExperiment),
});

/** Serializes a preview. The UI expects the size of the whole payload as the member `chars`. */
const toPayloadPreviewJson = (preview: PayloadPreview | null) =>
  preview && { text: preview.text, chars: preview.sizeBytes };
