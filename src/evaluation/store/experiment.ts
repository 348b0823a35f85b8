import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConflictError, NotFoundError, ValidationError } from "../../main/index.ts";
import type { Client, KeyValues, Project, Run } from "../../main/index.ts";
import { describeError } from "../rows/deadline.ts";
import { IdCounter } from "../ids.ts";
import { Journal, readJournal } from "./journal.ts";
import type { StoredEvaluation, StoredRow } from "./journal.ts";
import { lockFolder } from "./journal-lock.ts";
import type { UntypedRow } from "../result.ts";

/** Describes an experiment to open, and whether it may continue an earlier one. */
export interface ExperimentRequest {
  readonly client: Client;
  readonly name: string;
  readonly description?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  readonly datasetId?: string | undefined;
  readonly datasetVersion?: string | undefined;
  /** Identifies the data and the number of repetitions. */
  readonly data: string;
  /** Identifies the code of target and evaluators. */
  readonly code: string;
  readonly resume: boolean | "auto";
  /** Whether every finished row must have scores, unless the target failed. */
  readonly expectsScores: boolean;
  readonly journalDir: string | undefined;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
  /** Called for each row of the experiment that is continued. */
  readonly onRow: (row: UntypedRow) => void;
}

export interface OpenExperiment {
  readonly project: Project;
  readonly journal: Journal;
  /** The version of the dataset that the experiment uses. */
  readonly datasetVersion?: string | undefined;
  readonly finishedRuns: IdCounter;
  /** Start times of the runs of interrupted rows, in milliseconds, by run id. */
  readonly openRuns: ReadonlyMap<string, number>;
  /** Whether the server has acknowledged the row with this number. */
  readonly isAcknowledged: (number: number) => boolean;
  /** Releases the lock. */
  readonly release: () => void;
}

/** Key of Millrace's entry in the metadata of an experiment. */
const metadataKey = "millrace_evaluation";
/** Number of earlier journals that are kept for each experiment's name. */
const keptJournals = 10;
const defaultFolder = ".millrace/evaluations";

/** Opens the folder for the journals of an experiment's name, and locks it for this process. */
export function openFolder(
  journalDir: string | undefined,
  name: string,
): { readonly folder: string; readonly release: () => void } {
  const root = resolve(journalDir ?? defaultFolder);
  const folder = join(root, toFolderName(name));
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (journalDir === undefined) {
      // Journals contain inputs and outputs, which should not be committed by accident.
      writeFileSync(join(root, ".gitignore"), "*\n");
    }
  } catch (cause) {
    throw new ValidationError(
      `The folder ${folder} for the journal can't be created: ${describeError(cause)}. Pass another folder as journalDir`,
      { cause },
    );
  }
  const release = lockFolder(folder, name);
  for (const path of listJournals(folder).slice(0, -keptJournals)) {
    rmSync(path, { force: true });
  }
  return { folder, release };
}

/**
 * Converts a name to a folder name with characters that every file system accepts, and with a digest, so that different
 * names have different folders.
 */
const toFolderName = (name: string): string =>
  `${name.replace(/[^\w.-]+/g, "-").slice(0, 60)}-${digest(name).slice(0, 8)}`;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Returns a digest of the source text of functions, which identifies their code. */
export const fingerprintCode = (functions: readonly unknown[]): string =>
  digest(functions.map(String).join("\n")).slice(0, 16);

/**
 * Continues an interrupted experiment if the request allows it, otherwise starts a new one.
 *
 * @throws {@link ValidationError} if another process evaluates the experiment, or if `resume` is true and the
 * experiment can't be continued.
 */
export async function openExperiment(request: ExperimentRequest): Promise<OpenExperiment> {
  const { folder, release } = openFolder(request.journalDir, request.name);
  try {
    const journal = await continueJournal(request, folder);
    const experiment =
      journal ??
      (await importExperiment(request, folder)) ??
      (await startExperiment(request, folder));
    return { ...experiment, release };
  } catch (error) {
    release();
    throw error;
  }
}

type ExperimentWithoutRelease = Omit<OpenExperiment, "release">;

/**
 * Continues the latest journal of the folder. Returns `undefined` if there is no journal, or it may not be continued.
 */
async function continueJournal(
  request: ExperimentRequest,
  folder: string,
): Promise<ExperimentWithoutRelease | undefined> {
  const { client, resume, signal, warn, onRow } = request;
  const path = listJournals(folder).at(-1);
  if (resume === false || path === undefined) {
    return undefined;
  }
  const stored = await readJournal(path, () => {});
  if (stored === undefined || (stored.isComplete && resume !== true)) {
    return undefined;
  }
  const { experimentId, experimentName, data, code } = stored.header;
  const change = findChange(request, { data, code });
  if (change !== undefined) {
    const problem = `The interrupted experiment ${JSON.stringify(experimentName)} is not continued, because ${change}.`;
    if (resume === true && data !== request.data) {
      throw new ValidationError(`${problem} Pass resume: false to start a new one`);
    }
    if (resume === "auto") {
      warn(
        `${problem} A new one is started; pass resume: true to continue the interrupted one anyway.`,
      );
      return undefined;
    }
  }
  const project = await findProject(client, { projectId: experimentId, signal });
  if (project === undefined) {
    warn(
      `The interrupted experiment ${JSON.stringify(experimentName)} no longer exists on the server. A new one is started.`,
    );
    return undefined;
  }
  await readJournal(path, onRow);
  return { project, ...(await resumeJournal(path, stored)) };
}

async function resumeJournal(
  path: string,
  stored: StoredEvaluation,
): Promise<Omit<ExperimentWithoutRelease, "project">> {
  const { finishedRuns, openRuns, acknowledged, header } = stored;
  return {
    journal: await Journal.resume(path, stored),
    datasetVersion: header.datasetVersion,
    finishedRuns,
    openRuns,
    isAcknowledged: createRangeSet(acknowledged),
  };
}

/**
 * Creates a function that returns whether a number is in one of the ranges, by binary search. Adjacent ranges are
 * merged, so that a long evaluation has few ranges.
 */
function createRangeSet(
  ranges: readonly (readonly [from: number, to: number])[],
): (number: number) => boolean {
  const merged: [from: number, to: number][] = [];
  for (const [start, end] of ranges.toSorted(([left], [right]) => left - right)) {
    const lastRange = merged.at(-1);
    if (lastRange !== undefined && start <= lastRange[1]) {
      lastRange[1] = Math.max(lastRange[1], end);
    } else {
      merged.push([start, end]);
    }
  }
  return (number) => {
    let [low, high] = [0, merged.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((merged[middle]?.[1] ?? 0) <= number) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return (merged[low]?.[0] ?? Number.POSITIVE_INFINITY) <= number;
  };
}

function findChange(
  request: Pick<ExperimentRequest, "data" | "code">,
  stored: { readonly data: unknown; readonly code: unknown },
): string | undefined {
  if (stored.data !== request.data) {
    return "its data or its number of repetitions was different";
  }
  return stored.code === request.code ? undefined : "the code of target or evaluators has changed";
}

const listJournals = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .map((name) => join(folder, name));

/** Returns the path of a new journal. Sorting such paths sorts them by time. */
export const createJournalPath = (folder: string, experimentId: string): string =>
  join(folder, `${String(Date.now()).padStart(15, "0")}-${experimentId}.jsonl`);

/**
 * Continues an experiment for which this machine has no journal that can be continued, for example because another
 * machine began it. The finished rows are read from the server. Returns `undefined` if there is no such experiment, or
 * it may not be continued.
 */
async function importExperiment(
  request: ExperimentRequest,
  folder: string,
): Promise<ExperimentWithoutRelease | undefined> {
  const { client, name, resume, signal, data, code, onRow } = request;
  const project =
    resume === false ? undefined : await findProject(client, { projectName: name, signal });
  if (project === undefined) {
    return undefined;
  }
  const stored = readEvaluationMetadata(project);
  const isInterrupted = stored !== undefined && project.endTime === undefined;
  if (resume !== true && (!isInterrupted || findChange(request, stored) !== undefined)) {
    return undefined;
  }
  if (stored !== undefined && stored.data !== data) {
    throw new ValidationError(
      `The experiment ${JSON.stringify(name)} can't be continued, because its data or its number of repetitions was different. Pass another name as \`experiment\``,
    );
  }
  // If this machine already has a journal of this experiment, that journal is complete. The new journal replaces it,
  // because the server has the same rows.
  const path = createJournalPath(folder, project.id);
  const datasetVersion = stored?.datasetVersion;
  const journal = await Journal.create(path, {
    experimentId: project.id,
    experimentName: project.name,
    data,
    code,
    ...(datasetVersion === undefined ? {} : { datasetVersion }),
  });
  const runs = client.runs.list({ projectIds: [project.id], isRoot: true, order: "asc", signal });
  for await (const run of runs) {
    const row = toStoredRow(run);
    const lacksScores = row.scores.length === 0 && row.error === undefined;
    if (run.endTime === undefined || (request.expectsScores && lacksScores)) {
      await journal.writeStart(run.id, Date.parse(row.startTime));
    } else {
      await journal.writeRow(row);
    }
  }
  await journal.writeAcknowledged(0, journal.rowCount);
  await journal.close();
  const imported = await readJournal(path, onRow);
  if (imported === undefined) {
    throw new ValidationError(`The journal ${path} can't be read`);
  }
  return { project, ...(await resumeJournal(path, imported)) };
}

/** Millrace's entry in the metadata of an experiment. */
interface EvaluationMetadata {
  readonly data: unknown;
  readonly code: unknown;
  readonly datasetVersion: string | undefined;
}

function readEvaluationMetadata({ extra }: Project): EvaluationMetadata | undefined {
  const metadata = (extra["metadata"] ?? {}) as KeyValues;
  const entry = metadata[metadataKey];
  if (typeof entry !== "object" || entry === null) {
    return undefined;
  }
  const { data, code, dataset_version: version } = entry as KeyValues;
  return { data, code, datasetVersion: typeof version === "string" ? version : undefined };
}

/**
 * Converts a run from the server to a row. The scores are averages, because a run does not contain its individual
 * scores.
 */
export function toStoredRow(run: Run): StoredRow {
  const metadata = run.extra?.metadata ?? {};
  const startTime = toIsoTime(run.startTime);
  const endTime = Date.parse(toIsoTime(run.endTime));
  const { repetition, example_id: exampleId } = metadata;
  return {
    runId: run.id,
    exampleId: run.referenceExampleId ?? (typeof exampleId === "string" ? exampleId : run.id),
    repetition: typeof repetition === "number" ? repetition : 1,
    inputs: run.inputs ?? {},
    ...(run.error === undefined
      ? { outputs: run.outputs ?? {} }
      : { error: run.error.split("\n", 1)[0] ?? "" }),
    scores: toAverageScores(run.feedbackStats),
    startTime,
    durationMs: Math.max(0, endTime - Date.parse(startTime)) || 0,
    attempts: 1,
    warnings: [],
  };
}

/** Converts feedback statistics to one score for each feedback key, the average. */
export const toAverageScores = (
  feedbackStats: KeyValues | undefined,
): readonly { readonly key: string; readonly score: number }[] =>
  Object.entries(feedbackStats ?? {}).flatMap(([key, stats]) => {
    const average = (stats as KeyValues | null)?.["avg"];
    return typeof average === "number" ? [{ key, score: average }] : [];
  });

/**
 * Converts a time from the server to ISO 8601 in UTC. A time without a zone is in UTC; an absent time becomes the Unix
 * epoch.
 */
const toIsoTime = (time: string | undefined): string => {
  if (time === undefined) {
    return new Date(0).toISOString();
  }
  return new Date(/Z|[+-]\d\d:\d\d$/.test(time) ? time : `${time}Z`).toISOString();
};

async function startExperiment(
  request: ExperimentRequest,
  folder: string,
): Promise<ExperimentWithoutRelease> {
  const { data, code, datasetVersion } = request;
  const project = await createExperiment(request, {
    [metadataKey]: { data, code, dataset_version: datasetVersion },
  });
  const journal = await Journal.create(createJournalPath(folder, project.id), {
    experimentId: project.id,
    experimentName: project.name,
    data,
    code,
    ...(datasetVersion === undefined ? {} : { datasetVersion }),
  });
  return {
    project,
    journal,
    datasetVersion,
    finishedRuns: new IdCounter(),
    openRuns: new Map(),
    isAcknowledged: () => false,
  };
}

/** Maximum number of names that are tried if other processes create experiments of the same name at the same time. */
const nameAttempts = 10;

/** Creates an experiment. If the name is taken, a number is appended. */
export async function createExperiment(
  {
    client,
    name,
    description,
    metadata,
    datasetId,
    datasetVersion,
    signal,
  }: Pick<
    ExperimentRequest,
    "client" | "name" | "description" | "metadata" | "datasetId" | "datasetVersion" | "signal"
  >,
  ownMetadata: KeyValues,
): Promise<Project> {
  const fields = {
    description,
    referenceDatasetId: datasetId,
    metadata: {
      ...metadata,
      ...(datasetVersion === undefined ? {} : { dataset_version: datasetVersion }),
      ...ownMetadata,
    },
    signal,
  };
  let candidate = name;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.projects.create({ name: candidate, ...fields });
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === nameAttempts) {
        throw error;
      }
      candidate = await findFreeName(client, name, signal);
    }
  }
}

/** Returns the name of an experiment with the next free number appended. */
async function findFreeName(client: Client, name: string, signal: AbortSignal): Promise<string> {
  let highest = 1;
  for await (const project of client.projects.list({ nameContains: `${name}-`, signal })) {
    const number = project.name.startsWith(`${name}-`)
      ? Number(project.name.slice(name.length + 1))
      : Number.NaN;
    highest = Number.isSafeInteger(number) ? Math.max(highest, number) : highest;
  }
  return `${name}-${highest + 1}`;
}

/** Reads a project; `undefined` if it does not exist. */
export async function findProject(
  client: Client,
  key: Parameters<Client["projects"]["read"]>[0],
): Promise<Project | undefined> {
  try {
    return await client.projects.read(key);
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
}

/** The experiments that a page of the UI shows. */
interface ExperimentPage {
  readonly projectId: string;
  readonly datasetId: string | undefined;
  /** Ids of the experiments to compare with. */
  readonly others?: readonly string[];
  /** Id of a pairwise comparison. */
  readonly comparative?: string;
}

/**
 * Returns the address of an experiment in the UI: the comparison of the dataset's experiments, or the project. Returns
 * an empty object if the address can't be determined, because the evaluation's result is useful without it.
 */
export async function readUrl(
  client: Client,
  { projectId, datasetId, others = [], comparative }: ExperimentPage,
): Promise<{ url?: string }> {
  try {
    if (datasetId === undefined) {
      return { url: await client.projects.url({ projectId }) };
    }
    const query = new URLSearchParams({
      selectedSessions: [projectId, ...others].join(","),
      ...(comparative === undefined ? {} : { comparative }),
    });
    return { url: `${await client.datasets.url({ datasetId })}/compare?${query.toString()}` };
  } catch {
    return {};
  }
}
