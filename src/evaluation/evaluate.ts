import { Client, ValidationError } from "../main/index.ts";
import type { KeyValues } from "../main/index.ts";
import { checkKeys } from "../model/index.ts";
import type { KeyTable } from "../model/index.ts";
import { compareWithBaseline, findBaseline, readBaselineOption } from "./baseline.ts";
import { installCachedFetch } from "./cache/cached-fetch.ts";
import { readCacheOption } from "./cache/cache-options.ts";
import { RequestCache } from "./cache/request-cache.ts";
import { Committer } from "./store/committer.ts";
import { describeError, joinSignals, throwIfAborted } from "./rows/deadline.ts";
import { startEvaluation, withClient } from "./start-evaluation.ts";
import type { EvaluationState } from "./start-evaluation.ts";
import type { CurrentRow, Evaluation } from "./evaluation.ts";
import { FinalCalls } from "./final-calls.ts";
import { fingerprintCode, openExperiment, readUrl } from "./store/experiment.ts";
import type { OpenExperiment } from "./store/experiment.ts";
import { createRunId, IdCounter } from "./ids.ts";
import {
  checkClient,
  checkSignal,
  checkStoredOptions,
  checkText,
  ranges,
  readNumber,
} from "./option-checks.ts";
import type { EvaluateOptions, EvaluatorOptions } from "./options.ts";
import type { UntypedRow, EvaluationResult, ExperimentInfo } from "./result.ts";
import { runPool } from "./rows/row-pool.ts";
import { RowRunner, toNamedEvaluators, toNamedTarget } from "./rows/row-runner.ts";
import type { RowTask } from "./rows/row-runner.ts";
import { openSource } from "./rows/row-source.ts";
import type { RowSource } from "./rows/row-source.ts";
import { applyRunnerOptions } from "./runner.ts";
import { callSummaryEvaluators, storeSummaryScores } from "./summary-evaluators.ts";
import type { Summary } from "./summary.ts";
import type { Target } from "./target.ts";
import { Warnings } from "./warnings.ts";

/** The names of the options that all evaluations have. */
export const evaluatorOptionKeys: KeyTable<EvaluatorOptions> = {
  evaluators: 1,
  concurrency: 1,
  timeoutMs: 1,
  signal: 1,
  onRow: 1,
  evaluatorProject: 1,
  journalDir: 1,
  client: 1,
};

const evaluateOptionKeys: KeyTable<EvaluateOptions> = {
  ...evaluatorOptionKeys,
  data: 1,
  summaryEvaluators: 1,
  experiment: 1,
  description: 1,
  metadata: 1,
  repetitions: 1,
  retries: 1,
  resume: 1,
  baseline: 1,
  cache: 1,
};

/** Default project of evaluators' runs. LangSmith's clients use the same name. */
export const defaultEvaluatorProject = "evaluators";

type UntypedOptions = EvaluateOptions<unknown, unknown, unknown>;
type UntypedTarget = Target<unknown, unknown, unknown>;

/**
 * Calls a target for each row of data, and evaluates its outputs. The results form an experiment on the server. Each
 * finished row is stored in a local journal and on the server. If the process ends before the evaluation is complete,
 * the same call in a new process resumes it: finished rows are not evaluated again.
 *
 * @throws (as a rejection) `ValidationError` if an option or a row of the data is invalid, or if another process
 * evaluates the experiment; `AbortError` if `signal` was aborted; and any error of reading the data or sending a
 * request.
 */
export function evaluate<Inputs = KeyValues, Outputs = unknown, Reference = KeyValues>(
  target: Target<Inputs, Outputs, Reference>,
  options: EvaluateOptions<Inputs, Outputs, Reference>,
): Evaluation<Inputs, Outputs, Reference> {
  return startEvaluation("evaluate", async (state) => {
    const untypedOptions = applyRunnerOptions(options as unknown as UntypedOptions);
    const checked = checkOptions(target as UntypedTarget, untypedOptions);
    try {
      return await withClient(
        untypedOptions.client,
        () => new Client(),
        (client) => runEvaluation({ ...checked, client, options: untypedOptions }, state),
      );
    } catch (error) {
      // An aborted request may have thrown another error. Throw the error of the signal instead.
      if (untypedOptions.signal !== undefined) {
        throwIfAborted(untypedOptions.signal);
      }
      throw error;
    }
  });
}

/** The validated arguments of `evaluate`. */
interface Request extends ReturnType<typeof checkOptions> {
  readonly client: Client;
  readonly options: UntypedOptions;
}

function checkOptions(target: UntypedTarget, options: UntypedOptions) {
  const untyped: unknown = options;
  if (typeof untyped !== "object" || untyped === null) {
    throw new ValidationError("evaluate: pass options such as { data, evaluators }");
  }
  checkKeys<UntypedOptions>(options, evaluateOptionKeys, {
    subject: "evaluate",
    error: ValidationError,
  });
  const { resume = "auto", summaryEvaluators = [] } = options;
  if (resume !== "auto" && typeof resume !== "boolean") {
    throw new ValidationError('`resume` must be "auto", true or false');
  }
  if (
    !Array.isArray(summaryEvaluators) ||
    summaryEvaluators.some((evaluator: unknown) => typeof evaluator !== "function")
  ) {
    throw new ValidationError("`summaryEvaluators` must be an array of functions");
  }
  checkStoredOptions(options);
  const namedTarget = toNamedTarget(target);
  // Validate the evaluators first, because the code below reads their members.
  const evaluatorOptions = checkEvaluatorOptions(options);
  return {
    target: namedTarget,
    code: fingerprintCode([
      "invoke" in target ? target.invoke : target,
      ...(options.evaluators ?? []).map((evaluator) =>
        typeof evaluator === "function" ? evaluator : evaluator.evaluate,
      ),
    ]),
    experimentName: checkText("experiment", options.experiment),
    repetitions: readNumber("repetitions", options.repetitions, ranges.repetitions),
    resume,
    baselineOption: readBaselineOption(options.baseline),
    ...evaluatorOptions,
    retries: readNumber("retries", options.retries, ranges.retries),
    cacheSettings:
      options.cache === undefined ? undefined : readCacheOption(options.cache, "evaluate"),
  };
}

/** @throws {@link ValidationError} if an option that all evaluations have is invalid. */
export function checkEvaluatorOptions(options: EvaluatorOptions<unknown, unknown, unknown>) {
  const { signal, onRow } = options;
  checkSignal(signal);
  if (onRow !== undefined && typeof onRow !== "function") {
    throw new ValidationError("`onRow` must be a function");
  }
  checkClient(options.client);
  return {
    evaluators: toNamedEvaluators(options.evaluators ?? []),
    concurrency: readNumber("concurrency", options.concurrency, ranges.concurrency),
    timeoutMs: readNumber("timeoutMs", options.timeoutMs, ranges.timeoutMs),
    evaluatorProject:
      checkText("evaluatorProject", options.evaluatorProject) ?? defaultEvaluatorProject,
  };
}

async function runEvaluation(
  request: Request,
  state: EvaluationState,
): Promise<EvaluationResult<unknown, unknown, unknown>> {
  const { client, options, repetitions, target } = request;
  const { summary, setJournal } = state;
  const warnings = new Warnings();
  const cache =
    request.cacheSettings &&
    new RequestCache({
      ...request.cacheSettings,
      redact: (value) => client.redact(value),
      warn: warnings.add,
    });
  const abort = new AbortController();
  const signal = joinSignals(options.signal, abort.signal);
  throwIfAborted(signal);
  const source = await openSource(client, options.data, signal);
  const baseline =
    request.baselineOption && (await findBaseline(client, request.baselineOption, source.dataset));
  const experiment = await openExperiment({
    client,
    name: request.experimentName ?? `${target.name} on ${source.name}`,
    description: options.description,
    metadata: options.metadata,
    datasetId: source.dataset?.id,
    datasetVersion: source.datasetVersion,
    data: JSON.stringify({ source: source.identity, repetitions }),
    code: request.code,
    resume: request.resume,
    expectsScores: request.evaluators.length > 0,
    journalDir: options.journalDir,
    signal,
    warn: warnings.add,
    onRow: (row) => summary.addRow(row),
  });
  const { project, journal } = experiment;
  setJournal(journal);
  if (source.size !== undefined) {
    summary.total = source.size * repetitions;
  }
  try {
    const committer = new Committer({
      client,
      journal,
      summary,
      project,
      toRunName: () => target.name,
      toReferenceExample: ({ exampleId }) => (source.dataset === undefined ? undefined : exampleId),
      recordsRuns: true,
      warn: warnings.add,
    });
    summary.addAcknowledged(countAcknowledged(experiment));
    await committer.resendRows(
      (number) => number < journal.resumedRows && !experiment.isAcknowledged(number),
    );
    const info = await describeExperiment(request, experiment, {
      dataset: source.dataset,
      baselineId: baseline?.project.id,
    });
    state.observer?.onExperiment?.(info, () => readCosts(client, project.id));
    const uninstall = cache && installCachedFetch();
    try {
      await evaluateRows({
        ...request,
        signal,
        abort,
        source,
        experiment,
        committer,
        summary,
        warnings,
        cache,
        onRowStart: state.observer?.onRowStart,
      });
    } finally {
      uninstall?.();
      await cache?.drain();
      // Store the finished rows, even if the evaluation failed.
      await committer.drain();
    }
    if (cache !== undefined && summary.progress().rows > summary.progress().resumed) {
      warnOfCache(cache, warnings);
    }
    if (summary.progress().rows === 0) {
      warnings.add("The data has no rows, so nothing was evaluated.");
    }
    const readRows = (): AsyncIterable<UntypedRow> => readWholeJournal(journal);
    const summaryScores = await callSummaryEvaluators(options.summaryEvaluators ?? [], {
      info,
      summary,
      readRows,
    });
    const finalCalls = new FinalCalls(warnings);
    await finalCalls.runUnlessUnavailable(() => storeSummaryScores(client, info, summaryScores));
    const endTime = new Date().toISOString();
    await finalCalls.runUnlessUnavailable(() =>
      client.projects.update({ projectId: project.id, endTime, signal }),
    );
    if (committer.unacknowledged === 0 && !finalCalls.isServerUnavailable) {
      await journal.writeEnd(endTime);
    }
    const comparison =
      baseline &&
      (await finalCalls.runUnlessUnavailable(() =>
        compareWithBaseline({
          client,
          baseline,
          info,
          scoreKeys: Object.keys(summary.progress().scores),
          readRows,
          warn: warnings.add,
        }),
      ));
    const costs = await finalCalls.runUnlessUnavailable(() => readCosts(client, project.id));
    return {
      ...summary.progress(),
      experiment: info,
      summaryScores,
      ...costs,
      ...(comparison && { comparison }),
      ...(cache && { cache: cache.counts }),
      unacknowledged: committer.unacknowledged,
      journal: journal.path,
      warnings: warnings.list,
      readRows,
    };
  } finally {
    await journal.close();
    experiment.release();
  }
}

function warnOfCache({ counts }: RequestCache, warnings: Warnings): void {
  const { replayed, recorded, passed, missed } = counts;
  if (replayed + recorded + passed + missed === 0) {
    warnings.add(
      "cache: no request was intercepted, so nothing was recorded or replayed. A client that was created before evaluate() keeps using the fetch function of that time: pass fetch: cachedFetch() to it, or run the file with `millrace eval`. Requests that are not made with fetch can't be intercepted.",
    );
  }
  if (missed > 0) {
    warnings.add(
      `cache: ${missed} requests have no recorded response. Use the mode "auto" to record them.`,
    );
  }
}

function countAcknowledged({ journal, isAcknowledged }: OpenExperiment): number {
  let count = 0;
  for (let number = 0; number < journal.resumedRows; number += 1) {
    count += isAcknowledged(number) ? 1 : 0;
  }
  return count;
}

/** Reads the rows of a journal, even if it was closed. */
export async function* readWholeJournal(
  journal: OpenExperiment["journal"],
): AsyncGenerator<UntypedRow, void> {
  yield* journal.readRows();
}

/** Arguments of {@link evaluateRows}. */
interface RowEvaluation extends Request {
  readonly signal: AbortSignal;
  readonly abort: AbortController;
  readonly source: RowSource;
  readonly experiment: OpenExperiment;
  readonly committer: Committer;
  readonly summary: Summary;
  readonly warnings: Warnings;
  readonly cache: RequestCache | undefined;
  readonly onRowStart: ((row: CurrentRow) => void) | undefined;
}

async function evaluateRows(evaluation: RowEvaluation): Promise<void> {
  const { client, target, signal, abort, experiment, options, concurrency } = evaluation;
  const { project, openRuns, journal } = experiment;
  const runner = new RowRunner({
    client,
    project,
    evaluators: evaluation.evaluators,
    evaluatorProject: evaluation.evaluatorProject,
    timeoutMs: evaluation.timeoutMs,
    retries: evaluation.retries,
    signal,
    cache: evaluation.cache,
  });
  const store = createRowStore({ ...evaluation, journal, onRow: options.onRow });
  await runPool(listTasks(evaluation), {
    concurrency,
    signal,
    run: async ({ example, repetition, runId }) => {
      // The journal stores whole milliseconds. A run that is sent again from the journal must have the same start time.
      const startMs = openRuns.get(runId) ?? Date.now();
      await stopOnFailure(abort, () => journal.writeStart(runId, startMs));
      evaluation.onRowStart?.({ experimentId: project.id, exampleId: example.id, repetition });
      const row = await runner.run(target, { example, repetition, runId, startMs });
      await stopOnFailure(abort, () => store(row, openRuns.has(runId)));
    },
  });
  throwIfAborted(signal);
}

/** Aborts the evaluation if a row can't be stored, because the results of later rows could not be stored either. */
async function stopOnFailure<Result>(
  abort: AbortController,
  action: () => Promise<Result>,
): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

/** The objects with which {@link createRowStore} stores a finished row. */
interface RowStoreInit {
  readonly journal: OpenExperiment["journal"];
  readonly committer: Committer;
  readonly summary: Summary;
  readonly warnings: Warnings;
  readonly onRow: UntypedOptions["onRow"];
}

/** Creates a function that stores a finished row: in the journal, in the summary, and then on the server. */
export function createRowStore({
  journal,
  committer,
  summary,
  warnings,
  onRow,
}: RowStoreInit): (row: UntypedRow, isRepeated?: boolean) => Promise<void> {
  return async (row, isRepeated = false) => {
    const { isResumed: _, ...stored } = row;
    const number = await journal.writeRow(stored);
    summary.addRow(row);
    await committer.add({ number, row: stored, isRepeated });
    try {
      await onRow?.(row);
    } catch (error) {
      warnings.add(`onRow threw: ${describeError(error)}`);
    }
  };
}

/** Lists the repetitions of rows that have not finished yet. */
async function* listTasks({
  source,
  repetitions,
  experiment,
}: RowEvaluation): AsyncGenerator<Omit<RowTask, "startMs">, void> {
  const { project, finishedRuns, datasetVersion } = experiment;
  // The examples of a dataset have unique ids, so only other rows are checked for duplicate ids.
  const hasUniqueIds = source.datasetVersion !== undefined;
  const knownRuns = new IdCounter();
  let number = 0;
  for await (const example of source.read({ datasetVersion })) {
    number += 1;
    for (let repetition = 1; repetition <= repetitions; repetition += 1) {
      const runId = createRunId(project.id, example.id, repetition);
      if (!hasUniqueIds && repetition === 1 && knownRuns.add(runId) > 1) {
        throw new ValidationError(
          `Row ${number} of \`data\` has the same id as an earlier row (${example.id}), so its result would replace the result of that row. Leave the ids out, or make them unique`,
        );
      }
      if (!finishedRuns.has(runId)) {
        yield { example, repetition, runId };
      }
    }
  }
}

async function describeExperiment(
  { client }: Request,
  { project, datasetVersion }: OpenExperiment,
  { dataset, baselineId }: { readonly baselineId: string | undefined } & Pick<RowSource, "dataset">,
): Promise<ExperimentInfo> {
  return {
    id: project.id,
    name: project.name,
    ...(await readUrl(client, {
      projectId: project.id,
      datasetId: dataset?.id,
      others: baselineId === undefined ? [] : [baselineId],
    })),
    ...(dataset && { datasetId: dataset.id }),
    ...(datasetVersion === undefined ? {} : { datasetVersion }),
  };
}

async function readCosts(
  client: Client,
  projectId: string,
): Promise<Pick<EvaluationResult, "totalTokens" | "totalCost">> {
  const { stats } = await client.projects.read({ projectId, includeStats: true });
  const totalCost = Number(stats?.totalCost);
  return {
    ...(stats?.totalTokens === undefined ? {} : { totalTokens: stats.totalTokens }),
    ...(stats?.totalCost === undefined || !Number.isFinite(totalCost) ? {} : { totalCost }),
  };
}
