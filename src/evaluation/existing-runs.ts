import { Client, ValidationError } from "../main/index.ts";
import type { KeyValues, ListRuns, Run } from "../main/index.ts";
import { checkKeys } from "../model/index.ts";
import type { KeyTable } from "../model/index.ts";
import { Committer } from "./store/committer.ts";
import type { EvaluationExample } from "./data.ts";
import { joinSignals, throwIfAborted } from "./rows/deadline.ts";
import {
  checkEvaluatorOptions,
  createRowStore,
  evaluatorOptionKeys,
  readWholeJournal,
} from "./evaluate.ts";
import { startEvaluation, withClient } from "./start-evaluation.ts";
import type { EvaluationState } from "./start-evaluation.ts";
import type { Evaluation } from "./evaluation.ts";
import {
  createJournalPath,
  findProject,
  openFolder,
  readUrl,
  toStoredRow,
} from "./store/experiment.ts";
import { createNamedId } from "./ids.ts";
import { Journal } from "./store/journal.ts";
import type { EvaluatorOptions } from "./options.ts";
import { readNumber } from "./option-checks.ts";
import { applySharedOptions, rejectEvaluateOptions } from "./runner.ts";
import type { EvaluationResult } from "./result.ts";
import { runPool } from "./rows/row-pool.ts";
import { RowRunner } from "./rows/row-runner.ts";
import { fromOutputs } from "./payload.ts";
import { Warnings } from "./warnings.ts";

/** The evaluators that `evaluateExperiment` applies to the runs of an experiment, and how many run at a time. */
export type EvaluateExperimentOptions<
  Inputs = KeyValues,
  Outputs = KeyValues,
  Reference = KeyValues,
> = EvaluatorOptions<Inputs, Outputs, Reference>;

/** Which traces of a project `evaluateTraces` reads, and the evaluators that it applies to them. */
export interface EvaluateTracesOptions<
  Inputs = KeyValues,
  Outputs = KeyValues,
> extends EvaluatorOptions<Inputs, Outputs, undefined> {
  readonly projectName: string;
  /** A condition that the root runs must match, in the filter language (docs/filter-language.md). */
  readonly filter?: string | undefined;
  /** Only traces that started at or after this time. */
  readonly startTime?: Date | string | undefined;
  /** Only traces that started at or before this time. */
  readonly endTime?: Date | string | undefined;
  /**
   * Fraction of the traces to evaluate, above 0 and at most 1. The choice depends only on the traces' ids, so a
   * repeated call chooses the same traces.
   *
   * @defaultValue 1
   */
  readonly sampleRate?: number | undefined;
  /** Maximum number of traces, at least 1. @defaultValue no limit */
  readonly limit?: number | undefined;
}

type UntypedOptions = EvaluatorOptions<unknown, unknown, unknown>;

/**
 * Calls evaluators for the runs of an existing experiment. The scores are added to the scores that the runs already
 * have. Repeating the call adds further scores.
 *
 * @throws `ValidationError` (as a rejection) if an option is invalid, or there is no such experiment.
 */
export function evaluateExperiment<Inputs = KeyValues, Outputs = KeyValues, Reference = KeyValues>(
  experiment: string,
  options: EvaluateExperimentOptions<Inputs, Outputs, Reference>,
): Evaluation<Inputs, Outputs, Reference> {
  return startEvaluation("evaluateExperiment", async (state) => {
    rejectEvaluateOptions("evaluateExperiment", options);
    const untypedOptions = applySharedOptions(options as unknown as UntypedOptions);
    checkKeys(untypedOptions, evaluatorOptionKeys, {
      subject: "evaluateExperiment",
      error: ValidationError,
    });
    return evaluateRuns(untypedOptions, state, {
      projectName: experiment,
      call: "evaluateExperiment",
      list: (client, projectId, signal) =>
        listExperimentRuns(client, { projectId, projectName: experiment }, signal),
    });
  });
}

/**
 * Calls evaluators for recorded traces, such as a sample of production traffic. The scores become feedback on the root
 * runs. `referenceOutputs` is `undefined`, and `example` contains the run's inputs.
 *
 * @throws `ValidationError` (as a rejection) if an option is invalid, or there is no such project.
 */
export function evaluateTraces<Inputs = KeyValues, Outputs = KeyValues>(
  options: EvaluateTracesOptions<Inputs, Outputs>,
): Evaluation<Inputs, Outputs, undefined> {
  return startEvaluation("evaluateTraces", async (state) => {
    rejectEvaluateOptions("evaluateTraces", options);
    checkKeys<EvaluateTracesOptions<Inputs, Outputs>>(options, traceOptionKeys, {
      subject: "evaluateTraces",
      error: ValidationError,
    });
    const { projectName, filter, startTime, endTime, sampleRate = 1, limit } = options;
    if (typeof sampleRate !== "number" || !(sampleRate > 0 && sampleRate <= 1)) {
      throw new ValidationError("`sampleRate` must be a number above 0, and at most 1");
    }
    const maxTraces =
      limit === undefined ? Number.POSITIVE_INFINITY : readNumber("limit", limit, limitRange);
    return evaluateRuns(applySharedOptions(options as unknown as UntypedOptions), state, {
      projectName,
      call: "evaluateTraces",
      list: (client, projectId, signal) => {
        const query = { filter, startTime, endTime, order: "asc", signal } as const;
        return sampleTraces(
          client,
          { projectIds: [projectId], ...query },
          { sampleRate, maxTraces },
        );
      },
    });
  });
}

const traceOptionKeys: KeyTable<EvaluateTracesOptions> = {
  ...evaluatorOptionKeys,
  projectName: 1,
  filter: 1,
  startTime: 1,
  endTime: 1,
  sampleRate: 1,
  limit: 1,
};

const limitRange = { fallback: 1, min: 1, max: Number.MAX_SAFE_INTEGER };

/** A run to evaluate, and its example. */
interface ExistingRun {
  readonly run: Run;
  readonly example: EvaluationExample<unknown, unknown>;
}

/** Where the runs to evaluate come from: their project, and how to list them. */
interface RunSelection {
  readonly projectName: string;
  /** Name of the called function, for messages. */
  readonly call: string;
  readonly list: (
    client: Client,
    projectId: string,
    signal: AbortSignal,
  ) => AsyncGenerator<ExistingRun, void>;
}

async function* listExperimentRuns(
  client: Client,
  { projectId, projectName }: { readonly projectId: string; readonly projectName: string },
  signal: AbortSignal,
): AsyncGenerator<ExistingRun, void> {
  const { referenceDatasetId } = await client.projects.read({ projectId, signal });
  if (referenceDatasetId === undefined) {
    for await (const run of client.runs.list({ projectIds: [projectId], isRoot: true, signal })) {
      yield { run, example: toExample(run) };
    }
    return;
  }
  const comparisons = client.experiments.compare({
    datasetId: referenceDatasetId,
    experimentIds: [projectId],
    signal,
  });
  for await (const { example, runs } of comparisons) {
    for (const { run } of runs[projectId] ?? []) {
      const { attachments: _, ...fields } = example;
      // The runs of a comparison do not contain their project, so it is added.
      yield { run: { projectName, projectId, ...run }, example: fields };
    }
  }
}

/** Creates an example from the inputs of a run that has no example. */
const toExample = ({ id, inputs = {} }: Run): EvaluationExample<unknown, unknown> => ({
  id,
  inputs,
  metadata: {},
  splits: [],
});

async function* sampleTraces(
  client: Client,
  query: ListRuns,
  { sampleRate, maxTraces }: { readonly sampleRate: number; readonly maxTraces: number },
): AsyncGenerator<ExistingRun, void> {
  let count = 0;
  for await (const run of client.runs.list({ ...query, isRoot: true })) {
    if (count === maxTraces) {
      return;
    }
    if (run.endTime !== undefined && toFraction(run.id) < sampleRate) {
      count += 1;
      yield { run, example: toExample(run) };
    }
  }
}

/** Namespace of the ids that determine which traces are in the sample. */
const sampleNamespace = "4b0ff8f7-2b2d-4b3a-9b43-6d2d3f1f5c0e";

/** Derives a number from 0 to below 1 from an id. The numbers are evenly distributed. */
const toFraction = (id: string): number =>
  Number.parseInt(createNamedId(sampleNamespace, id).slice(0, 8), 16) / 2 ** 32;

async function evaluateRuns(
  options: UntypedOptions,
  state: EvaluationState,
  selection: RunSelection,
): Promise<EvaluationResult<unknown, unknown, unknown>> {
  const checked = checkEvaluatorOptions(options);
  if (checked.evaluators.length === 0) {
    throw new ValidationError(`${selection.call}: pass at least one function as \`evaluators\``);
  }
  return withClient(
    options.client,
    () => new Client(),
    (client) => evaluateWithClient({ ...checked, options, client, selection }, state),
  );
}

/** The validated arguments, and the client. */
interface RunEvaluation extends ReturnType<typeof checkEvaluatorOptions> {
  readonly options: UntypedOptions;
  readonly client: Client;
  readonly selection: RunSelection;
}

async function evaluateWithClient(
  { options, client, selection, concurrency, ...settings }: RunEvaluation,
  state: EvaluationState,
): Promise<EvaluationResult<unknown, unknown, unknown>> {
  const { projectName, call, list } = selection;
  const { summary, setJournal } = state;
  const signal = joinSignals(options.signal);
  throwIfAborted(signal);
  const project = await findProject(client, { projectName, signal });
  if (project === undefined) {
    throw new ValidationError(
      `${call}: there is no project ${JSON.stringify(projectName)}. Check the name`,
    );
  }
  const { folder, release } = openFolder(options.journalDir, `${call} ${projectName}`);
  const warnings = new Warnings();
  try {
    const journal = await Journal.create(createJournalPath(folder, project.id), {
      experimentId: project.id,
      experimentName: project.name,
      data: call,
      code: "",
    });
    setJournal(journal);
    const datasetId = project.referenceDatasetId;
    const info = {
      id: project.id,
      name: project.name,
      ...(await readUrl(client, { projectId: project.id, datasetId })),
      ...(datasetId === undefined ? {} : { datasetId }),
    };
    // The target is not called, so there are no target costs to read.
    state.observer?.onExperiment?.(info, async () => ({}));
    try {
      const committer = new Committer({
        client,
        journal,
        summary,
        project,
        toRunName: () => projectName,
        toReferenceExample: () => undefined,
        recordsRuns: false,
        // A repeated evaluation adds scores instead of replacing them, so their ids must differ.
        feedbackNamespace: crypto.randomUUID(),
        warn: warnings.add,
      });
      const runner = new RowRunner({ ...settings, client, project, retries: 0, signal });
      const store = createRowStore({ journal, committer, summary, warnings, onRow: options.onRow });
      try {
        await runPool(list(client, project.id, signal), {
          concurrency,
          signal,
          run: async ({ run, example }) => {
            const row = toStoredRow(run);
            const scores =
              run.error === undefined
                ? await runner.evaluate(run, example, fromOutputs(run.outputs))
                : [];
            const { outputs: referenceOutputs } = example;
            await store({
              ...row,
              ...(referenceOutputs === undefined ? {} : { referenceOutputs }),
              scores,
              isResumed: false,
            });
          },
        });
        throwIfAborted(signal);
      } finally {
        await committer.drain();
      }
      if (summary.progress().rows === 0) {
        warnings.add("No run matches, so nothing was evaluated.");
      }
      return {
        ...summary.progress(),
        experiment: info,
        summaryScores: [],
        unacknowledged: committer.unacknowledged,
        journal: journal.path,
        warnings: warnings.list,
        readRows: () => readWholeJournal(journal),
      };
    } finally {
      await journal.close();
    }
  } finally {
    release();
  }
}
