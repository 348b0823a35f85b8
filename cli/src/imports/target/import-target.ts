import { ConflictError, NotFoundError, UploadError } from "millrace";
import type {
  Client,
  CreateDataset,
  CreateFeedback,
  CreateProject,
  Dataset,
  NewExample,
  Project,
  RejectedRow,
  UploadResult,
  WirePost,
} from "millrace";
import { isUuid } from "millrace/model";
import type { RowKind, Tally } from "../model/tally.ts";
import { SourceError } from "../source/source-client.ts";

/** Options of an {@link ImportTarget}. */
export interface ImportTargetInit {
  readonly client: Client;
  readonly tally: Tally;
  /** Whether rows are only counted, and nothing is sent. */
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
  /** Called for each row that is read from the source. */
  readonly onRow: (kind: RowKind) => void;
  /** Called with the reason when the server stops responding. */
  readonly onWait: (reason: string) => void;
}

type Rows<Row> = AsyncIterable<Row> | Iterable<Row>;
type NewProject = Omit<CreateProject, "signal" | "upsert"> & { readonly id: string };
type NewDataset = Omit<CreateDataset, "signal"> & { readonly id: string };

/**
 * Writes imported data to the server, with the calls and uploads of the SDK. Every row has a fixed id, so writing it
 * again changes nothing.
 */
export class ImportTarget {
  readonly #init: ImportTargetInit;

  constructor(init: ImportTargetInit) {
    this.#init = init;
  }

  get client(): Client {
    return this.#init.client;
  }

  get isDryRun(): boolean {
    return this.#init.isDryRun;
  }

  get signal(): AbortSignal {
    return this.#init.signal;
  }

  get tally(): Tally {
    return this.#init.tally;
  }

  /**
   * Creates a project. If the server already has a project of this name or id, that project is used. Returns the
   * project's name on the server, because runs refer to their project by name.
   */
  async addProject(project: NewProject): Promise<string> {
    const { client, signal, tally, isDryRun, onRow } = this.#init;
    onRow("projects");
    if (isDryRun) {
      tally.add("projects", "imported");
      return project.name;
    }
    const { referenceDatasetId, ...fields } = project;
    const hasDataset =
      referenceDatasetId !== undefined &&
      (await client.datasets.has({ datasetId: referenceDatasetId, signal }));
    try {
      await client.projects.create({
        ...fields,
        ...(hasDataset ? { referenceDatasetId } : {}),
        signal,
      });
      tally.add("projects", "imported");
      return project.name;
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        throw error;
      }
      const existing =
        (await this.findProject(project.name)) ?? (await this.#findProjectById(project.id));
      if (existing === undefined) {
        throw error;
      }
      tally.add("projects", "existing");
      return existing.name;
    }
  }

  /** Finds a project of the server by its name. */
  findProject(projectName: string): Promise<Project | undefined> {
    const { client, signal } = this.#init;
    return findOrUndefined(() => client.projects.read({ projectName, signal }));
  }

  #findProjectById(projectId: string): Promise<Project | undefined> {
    const { client, signal } = this.#init;
    return findOrUndefined(() => client.projects.read({ projectId, signal }));
  }

  /**
   * Creates a dataset, unless the server already has it. Returns its id. If the server has a different dataset of this
   * name, nothing is imported into that dataset, and the result is `undefined`.
   */
  async addDataset(dataset: NewDataset): Promise<string | undefined> {
    const { client, signal, tally, isDryRun, onRow } = this.#init;
    onRow("datasets");
    if (isDryRun) {
      tally.add("datasets", "imported");
      return dataset.id;
    }
    try {
      await client.datasets.create({ ...dataset, signal });
      tally.add("datasets", "imported");
      return dataset.id;
    } catch (error) {
      if (!(error instanceof ConflictError)) {
        throw error;
      }
      if ((await this.findDataset(dataset.id)) !== undefined) {
        tally.add("datasets", "existing");
        return dataset.id;
      }
      tally.leaveOut(
        "datasets",
        "the server has another dataset of this name: rename it, then import again",
        dataset.name,
      );
      return undefined;
    }
  }

  findDataset(datasetId: string): Promise<Dataset | undefined> {
    const { client, signal } = this.#init;
    return findOrUndefined(() => client.datasets.read({ datasetId, signal }));
  }

  /**
   * Pins the baseline experiment of an imported dataset, unless the dataset has a baseline already or was left out. A
   * baseline experiment that is not on the server is reported.
   */
  async addBaseline(
    { id, name }: { readonly id: string; readonly name: string },
    baselineExperimentId: string,
  ): Promise<void> {
    const { client, signal, tally, isDryRun } = this.#init;
    const dataset = isDryRun ? undefined : await this.findDataset(id);
    if (dataset === undefined || dataset.baselineExperimentId !== undefined) {
      return;
    }
    const experiment = await this.#findProjectById(baselineExperimentId);
    if (experiment === undefined) {
      tally.leaveOut(
        "datasets",
        "its baseline experiment is not on the server, so the dataset has no baseline: import that experiment too, with --only projects,datasets or without --only and --project",
        name,
      );
      return;
    }
    // If the project was imported before its dataset, it refers to no dataset, and so it is not an experiment.
    if (experiment.referenceDatasetId !== id) {
      tally.leaveOut(
        "datasets",
        "its baseline experiment was imported before the dataset, so the dataset has no baseline: delete that experiment on the server, then import again, with --only projects,datasets or without --only",
        name,
      );
      return;
    }
    await client.datasets.update({ datasetId: id, baselineExperimentId, signal });
  }

  addExamples(datasetId: string, examples: Rows<NewExample>): Promise<void> {
    const { client } = this.#init;
    return this.#upload("examples", examples, (rows, settings) =>
      client.examples.upload(rows, { ...settings, datasetId }),
    );
  }

  /** Returns which of these examples the server already has with attachments, so as not to download these again. */
  async findExamples(datasetId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { client, signal, isDryRun } = this.#init;
    const validIds = ids.filter(isUuid);
    const existingIds = new Set<string>();
    if (isDryRun || validIds.length === 0) {
      return existingIds;
    }
    for await (const { id, attachments } of client.examples.list({
      datasetId,
      ids: validIds,
      includeAttachments: true,
      signal,
    })) {
      if (attachments !== undefined) {
        existingIds.add(id);
      }
    }
    return existingIds;
  }

  /**
   * Returns which of these runs the server already has, and whether they have ended there. Such runs are not uploaded,
   * so that their attachments are not downloaded again.
   */
  async findRuns(ids: readonly string[]): Promise<ReadonlyMap<string, "open" | "ended">> {
    const { client, signal, isDryRun } = this.#init;
    const validIds = ids.filter(isUuid);
    const states = new Map<string, "open" | "ended">();
    if (isDryRun || validIds.length === 0) {
      return states;
    }
    const runs = client.runs.list({ ids: validIds, select: ["id", "endTime"], signal });
    for await (const { id, endTime } of runs) {
      states.set(id, endTime === undefined ? "open" : "ended");
    }
    return states;
  }

  /** Ends runs that were still open when an earlier import created them. */
  async endRuns(runs: readonly WirePost[]): Promise<void> {
    const { client, tally, signal } = this.#init;
    if (runs.length === 0) {
      return;
    }
    for (const run of runs) {
      const { id = "", start_time: _start, name: _name, run_type: _type, ...end } = run;
      await client.updateRun(id, end);
    }
    const { delivered } = await client.flush();
    signal.throwIfAborted();
    if (delivered < runs.length) {
      throw new Error(
        `the server did not accept the ends of ${runs.length - delivered} runs that an earlier import left open. Check that no environment variable turns recording off, such as MILLRACE_TRACING=false`,
      );
    }
    tally.add("runs", "imported", runs.length);
  }

  addRuns(projectName: string, runs: Rows<WirePost>): Promise<void> {
    const { client } = this.#init;
    return this.#upload("runs", runs, (rows, settings) =>
      client.runs.upload(rows, { ...settings, projectName }),
    );
  }

  /**
   * Uploads a page of feedback. Feedback on projects and feedback on runs are uploaded separately: only if all entries
   * of a request concern runs do servers accept many entries, and report which ones they already had.
   */
  async addFeedback(feedback: Iterable<CreateFeedback>): Promise<void> {
    const { client, isDryRun, tally } = this.#init;
    const onRuns: CreateFeedback[] = [];
    const onProjects: CreateFeedback[] = [];
    for (const entry of feedback) {
      if (entry.runId !== undefined) {
        onRuns.push(entry);
      } else if (!isDryRun && (await this.#hasFeedback(entry.id ?? ""))) {
        tally.add("feedback", "existing");
      } else {
        onProjects.push(entry);
      }
    }
    for (const entries of [onRuns, onProjects]) {
      if (entries.length > 0) {
        await this.#upload("feedback", entries, (rows, settings) =>
          client.feedback.upload(rows, settings),
        );
      }
    }
  }

  async #hasFeedback(id: string): Promise<boolean> {
    const { client, signal } = this.#init;
    return (
      isUuid(id) &&
      (await findOrUndefined(() => client.feedback.read(id, { signal }))) !== undefined
    );
  }

  async #upload<Row>(
    kind: RowKind,
    rows: Rows<Row>,
    send: (
      rows: AsyncIterable<Row>,
      settings: {
        readonly signal: AbortSignal;
        readonly onRejected: (row: RejectedRow) => void;
        readonly onWait: (reason: Error) => void;
      },
    ) => Promise<UploadResult>,
  ): Promise<void> {
    const { signal, tally, isDryRun, onRow, onWait } = this.#init;
    const watched = async function* watch(): AsyncGenerator<Row> {
      for await (const row of rows) {
        onRow(kind);
        yield row;
      }
    };
    if (isDryRun) {
      for await (const _row of watched()) {
        tally.add(kind, "imported");
      }
      return;
    }
    try {
      const { created, skipped } = await send(watched(), {
        signal,
        onRejected: ({ reason, id }) =>
          tally.leaveOut(kind, `the server refused it: ${reason}`, id),
        onWait: ({ message }) => onWait(message),
      });
      tally.add(kind, "imported", created);
      tally.add(kind, "existing", skipped);
    } catch (error) {
      // The upload's own error says only that rows could not be read. Throw the error of the source instead, which says
      // what to do.
      throw error instanceof UploadError && error.cause instanceof SourceError
        ? error.cause
        : error;
    }
  }
}

async function findOrUndefined<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
}
