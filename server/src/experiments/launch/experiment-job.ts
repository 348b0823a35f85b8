import { randomUUID } from "node:crypto";
import { toIso } from "millrace/model";
import { createRunId } from "millrace/scorers";
import { RequestError } from "../../model/errors.ts";
import { defineJobKind } from "../../jobs/job-kind.ts";
import type { AnyJobKind, JobContext, JobStep } from "../../jobs/job-kind.ts";
import type { JsonValue } from "../../jobs/job.ts";
import { parseAsOf } from "../../datasets/as-of.ts";
import type { Dataset } from "../../datasets/dataset.ts";
import { latestTag } from "../../datasets/dataset-version.ts";
import type { Example } from "../../datasets/examples/example.ts";
import type { JudgeModels } from "../../judges/call-judge.ts";
import { storeParts } from "../../judges/result-parts.ts";
import { callWithinRate } from "../../models/repeat-call.ts";
import { runRow } from "./experiment-row.ts";
import type { Row, RowResult } from "./experiment-row.ts";
import { launchLimits, launchParameters } from "./launch-schemas.ts";
import type { LaunchBody, LaunchParameters, Target } from "./launch-schemas.ts";
import type { LaunchDependencies } from "./launch-store.ts";
import { readPromptCommit } from "./prompt-source.ts";

/** The kind of the jobs that run experiments on the server. */
export const experimentJobKind = "experiments.run";

type Context = JobContext<LaunchParameters>;

/** Where a step begins. */
interface Cursor {
  /** Position of the last example whose rows are all done. */
  readonly after: number;
  /** Number of rows done so far, in all examples. */
  readonly done: number;
}

/**
 * The job that runs an experiment: it calls a model with a prompt for each example of a dataset, and scores the
 * answers. A step runs a few rows at the same time. The id of a run is computed from its experiment, example and
 * repetition, so a step that is performed again calls models only for rows whose run is not stored.
 */
export const createExperimentJobKind = (dependencies: LaunchDependencies): AnyJobKind =>
  defineJobKind({
    name: experimentJobKind,
    parameters: launchParameters,
    isInternal: true,
    prepare: async (_tenantId, parameters) => ({
      title: `Experiment “${parameters.target.name}”`,
    }),
    step: async (context, cursor) => performStep(dependencies, context, toCursor(cursor)),
  });

const toCursor = (cursor: JsonValue): Cursor =>
  (cursor as unknown as Cursor | null) ?? { after: -1, done: 0 };

/**
 * Checks a request to run experiments, and returns the parameters of one job for each target.
 *
 * @throws RequestError the dataset, a prompt or an endpoint does not exist, or the dataset has no examples.
 */
export async function prepareExperiments(
  { store, models }: LaunchDependencies,
  tenantId: string,
  { targets, as_of: asOfText, ...common }: LaunchBody,
): Promise<readonly { readonly parameters: LaunchParameters; readonly total: number }[]> {
  const { dataset_id: datasetId, splits } = common;
  const dataset = await store.read.datasets.find(tenantId, datasetId);
  if (dataset === undefined) {
    throw new RequestError(404, `there is no dataset with the id ${datasetId}`);
  }
  const version = await chooseVersion(store, dataset, asOfText);
  const exampleCount = await store.read.examples.count(tenantId, {
    datasetId,
    versionTime: version.version_us,
    ...(splits === undefined ? {} : { splits }),
  });
  if (exampleCount === 0) {
    throw new RequestError(
      422,
      splits === undefined
        ? "this version of the dataset has no examples: add some, or choose another version"
        : `this version of the dataset has no examples in the split ${splits.map((name) => JSON.stringify(name)).join(" or ")}: choose another split or version`,
    );
  }
  for (const { endpoint } of common.judges) {
    models.findEndpoint(endpoint);
  }
  const prepared = [];
  for (const target of targets) {
    models.findEndpoint(target.endpoint);
    const { commit } = await readPromptCommit(store.read.prompts, tenantId, target.prompt);
    prepared.push({
      parameters: {
        ...common,
        target,
        prompt_commit: commit,
        experiment_id: randomUUID(),
        ...version,
      },
      total: exampleCount * common.repetitions,
    });
  }
  return prepared;
}

/**
 * Chooses the version of the dataset to run. The experiment keeps this version even if the dataset changes while it
 * runs.
 *
 * @throws RequestError 404: there is no such version.
 */
async function chooseVersion(
  store: LaunchDependencies["store"],
  { id, tenantId, versionMicros }: Dataset,
  text = "",
): Promise<Pick<LaunchParameters, "version_us" | "version_tag">> {
  if (text === "" || text === latestTag) {
    return { version_us: versionMicros };
  }
  const asOf = parseAsOf(text);
  const version = await store.read.datasets.findVersion(tenantId, id, asOf);
  if (version === undefined) {
    throw new RequestError(
      404,
      asOf.kind === "tag"
        ? `no version of the dataset has the tag ${JSON.stringify(asOf.tag)}: use a tag, a time such as 2026-11-27T10:00:00Z, or latest`
        : `the dataset has no version at or before ${text}`,
    );
  }
  return {
    version_us: version.micros,
    ...(asOf.kind === "tag" ? { version_tag: asOf.tag } : {}),
  };
}

async function performStep(
  dependencies: LaunchDependencies,
  context: Context,
  cursor: Cursor,
): Promise<JobStep> {
  const { store } = dependencies;
  const { tenantId, parameters, progress } = context;
  const { repetitions, concurrency } = parameters;
  const { name: experimentName } = await readExperiment(store, tenantId, parameters);
  const examples = await store.read.examples.page(tenantId, {
    datasetId: parameters.dataset_id,
    versionTime: parameters.version_us,
    ...(parameters.splits === undefined ? {} : { splits: parameters.splits }),
    after: cursor.after,
    limit: Math.max(1, Math.ceil(concurrency / repetitions)),
    bytesMax: launchLimits.stepBytes,
  });
  const lastExample = examples.at(-1);
  if (lastExample === undefined) {
    await endExperiment(dependencies, context);
    return {
      done: cursor.done,
      total: cursor.done,
      result: {
        summary: `${cursor.done} ${cursor.done === 1 ? "row" : "rows"}`,
        dataset_id: parameters.dataset_id,
        experiment_id: parameters.experiment_id,
      },
    };
  }
  const { manifest } = await readPromptCommit(
    store.read.prompts,
    tenantId,
    parameters.prompt_commit,
  );
  const rows = examples.flatMap((example) =>
    Array.from({ length: repetitions }, (_, index) =>
      createRow(context, { example, repetition: index + 1, experimentName, manifest }),
    ),
  );
  const stored = await findStoredRows(dependencies, rows, context);
  const results = await runRows(
    { ...dependencies, models: waitForRate(dependencies.models) },
    rows.filter(({ runId }) => !stored.runIds.has(runId)),
    concurrency,
  );
  const figures = addFigures(progress.figures, results);
  const done = cursor.done + rows.length;
  return {
    cursor: { after: lastExample.position, done },
    done,
    figures: { ...figures, cost_usd: figures.cost_usd + stored.cost },
    failures: results.flatMap(({ error }) => error ?? []),
  };
}

function createRow(
  { tenantId, parameters, signal }: Context,
  {
    example,
    repetition,
    experimentName,
    manifest,
  }: Pick<Row, "repetition" | "experimentName" | "manifest"> & { readonly example: Example },
): Row {
  const { inputs, outputs, metadata } = example;
  return {
    tenantId,
    exampleId: example.id,
    example: { inputs, outputs, metadata },
    repetition,
    runId: createRunId(parameters.experiment_id, example.id, repetition),
    experimentName,
    manifest,
    parameters,
    signal,
  };
}

/** Finds the rows that an interrupted attempt of the same step has stored already, and their cost. */
async function findStoredRows(
  { store }: LaunchDependencies,
  rows: readonly Row[],
  { tenantId }: Context,
): Promise<{ readonly runIds: ReadonlySet<string>; readonly cost: number }> {
  const { runs } = await store.read.runs.query(tenantId, {
    filter: { ids: rows.map(({ runId }) => runId) },
    order: "asc",
    limit: rows.length,
    withChildren: false,
    parts: new Set(),
  });
  const runIds = new Set(runs.map(({ row }) => row.id));
  const usage =
    runIds.size === 0
      ? new Map<string, never>()
      : await store.read.experiments.readUsageOfTraces(tenantId, [...runIds]);
  const cost = [...usage.values()].reduce((sum, traceUsage) => sum + (traceUsage.cost ?? 0), 0);
  return { runIds, cost };
}

/**
 * Wraps the models so that a call waits while the tenant's limit of calls per minute is reached. A job can wait,
 * because it has nothing else to do.
 */
const waitForRate = (models: JudgeModels): JudgeModels => ({
  findEndpoint: (name) => models.findEndpoint(name),
  call: async (call) => callWithinRate(models, call),
});

/**
 * Runs rows, at most `concurrency` at the same time, and stores each as soon as it is done. If a row can't be run, no
 * further rows are begun, and the error is thrown after the rows in progress have ended.
 */
async function runRows(
  dependencies: LaunchDependencies,
  rows: readonly Row[],
  concurrency: number,
): Promise<readonly RowResult[]> {
  const waiting = [...rows];
  const results: RowResult[] = [];
  const failures: unknown[] = [];
  const runNextRows = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      try {
        row.signal.throwIfAborted();
        const result = await runRow(row, dependencies);
        await storeParts(dependencies.store, row.tenantId, result.parts);
        results.push(result);
      } catch (cause) {
        failures.push(cause);
        waiting.length = 0;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runNextRows));
  if (failures.length > 0) {
    throw failures[0];
  }
  return results;
}

interface Figures {
  readonly cost_usd: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Calls whose cost is unknown. */
  readonly unpriced_calls: number;
  readonly [name: string]: number;
}

function addFigures(
  figuresBefore: Readonly<Record<string, number>>,
  results: readonly RowResult[],
): Figures {
  const calls = results.flatMap((result) => result.calls);
  const sum = (name: string, read: (call: (typeof calls)[number]) => number): number =>
    calls.reduce((total, call) => total + read(call), figuresBefore[name] ?? 0);
  return {
    cost_usd: sum("cost_usd", ({ cost }) => ("reason" in cost ? 0 : cost.total)),
    input_tokens: sum("input_tokens", ({ usage }) => usage?.inputTokens ?? 0),
    output_tokens: sum("output_tokens", ({ usage }) => usage?.outputTokens ?? 0),
    unpriced_calls: sum("unpriced_calls", ({ cost }) => Number("reason" in cost)),
  };
}

/** Maximum number of names to try while other projects have the same name. */
const nameAttempts = 100;

/** Creates the project of an experiment. If the name is taken, a number is appended. */
export async function createExperiment(
  { store }: LaunchDependencies,
  tenantId: string,
  parameters: LaunchParameters,
): Promise<void> {
  const { name } = parameters.target;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await store.write.projects.create(
        tenantId,
        createDraft(parameters, attempt === 1 ? name : `${name}-${attempt}`),
      );
      return;
    } catch (cause) {
      const isTaken = cause instanceof RequestError && cause.status === 409;
      if (!isTaken || attempt === nameAttempts) {
        throw cause;
      }
    }
  }
}

function createDraft(parameters: LaunchParameters, name: string) {
  const { experiment_id: id, dataset_id: referenceDatasetId, target } = parameters;
  return {
    id,
    name,
    description: null,
    startMicros: Date.now() * 1_000,
    endMicros: null,
    referenceDatasetId,
    upsert: false,
    extra: { metadata: createMetadata(parameters, target) },
  };
}

const createMetadata = (
  {
    prompt_commit: prompt,
    repetitions,
    version_us: versionMicros,
    version_tag: versionTag,
    splits,
  }: LaunchParameters,
  { model, endpoint, temperature, max_tokens: maxTokens }: Target,
) => ({
  prompt,
  model,
  endpoint,
  num_repetitions: repetitions,
  ...(temperature === undefined ? {} : { temperature }),
  ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  ...(versionMicros === null ? {} : { dataset_version: toIso(versionMicros) }),
  ...(versionTag === undefined ? {} : { dataset_version_tag: versionTag }),
  ...(splits === undefined ? {} : { dataset_splits: splits }),
});

async function endExperiment(
  { store }: LaunchDependencies,
  { tenantId, parameters }: Context,
): Promise<void> {
  const { name, description, extra } = await readExperiment(store, tenantId, parameters);
  await store.write.projects.update(tenantId, parameters.experiment_id, {
    name,
    description,
    extra,
    endMicros: Date.now() * 1_000,
  });
}

async function readExperiment(
  store: LaunchDependencies["store"],
  tenantId: string,
  { experiment_id: id }: LaunchParameters,
) {
  const project = await store.read.projects.find(tenantId, id);
  if (project === undefined) {
    throw new RequestError(404, "the experiment was deleted while it ran");
  }
  return project;
}
