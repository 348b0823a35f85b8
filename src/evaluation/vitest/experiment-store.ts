import { AbortError, Client, HttpError } from "../../main/index.ts";
import type { KeyValues, Project } from "../../main/index.ts";
import { pinVersion } from "../rows/row-source.ts";
import type { ExperimentInfo, UntypedRow } from "../result.ts";
import { Committer } from "../store/committer.ts";
import { createExperiment, readUrl } from "../store/experiment.ts";
import type { StoredRow } from "../store/journal.ts";
import { Summary } from "../summary.ts";
import { readMessage } from "./read-message.ts";
import { settleWithin } from "./real-time.ts";
import { openDataset, syncExamples } from "./sync-examples.ts";
import type { TestExample } from "./sync-examples.ts";

/** The dataset and the experiment of a suite, before they are created. */
export interface StoreRequest {
  /** The caller's client. */
  readonly client: Client | undefined;
  readonly datasetName: string;
  readonly experimentName: string;
  readonly description: string | undefined;
  readonly metadata: KeyValues | undefined;
  /** The examples of all tests. Their ids may depend on the dataset. */
  readonly listExamples: (datasetId: string) => readonly TestExample[];
}

/** Longest time for preparing the dataset and the experiment, in milliseconds. */
export const openTimeoutMs = 60_000;
/** Longest wait for the response to the request that checks whether a server responds, in milliseconds. */
const probeTimeoutMs = 5_000;
/** Longest time for sending the last results, in milliseconds. */
const closeTimeoutMs = 90_000;
/**
 * Time limit of a suite's last hook, in milliseconds. It is longer than {@link closeTimeoutMs}, so that the hook itself
 * does not time out.
 */
export const closeHookTimeoutMs = closeTimeoutMs + 30_000;

/** A row to store, with the name of its run. */
export type NamedRow = StoredRow & { readonly name: string };

/** The experiment in which the results of a suite are stored. */
export class ExperimentStore {
  readonly client: Client;
  readonly project: Project;
  readonly info: ExperimentInfo;
  readonly #rows = new UnacknowledgedRows();
  readonly #committer: Committer;
  readonly #ownsClient: boolean;
  /** Number of rows whose runs the client did not record. */
  #unrecorded = 0;

  private constructor({
    client,
    project,
    info,
    ownsClient,
  }: Pick<ExperimentStore, "client" | "project" | "info"> & { readonly ownsClient: boolean }) {
    this.client = client;
    this.project = project;
    this.info = info;
    this.#ownsClient = ownsClient;
    this.#committer = new Committer({
      client,
      journal: this.#rows,
      summary: new Summary(),
      project,
      toRunName: ({ runId }) => this.#rows.findName(runId),
      toReferenceExample: ({ exampleId }) => exampleId,
      recordsRuns: true,
      // `close` reports the failures.
      warn: () => {},
    });
  }

  /**
   * Creates or updates the dataset and its examples, and creates a new experiment.
   *
   * @throws Error with the reason if nothing can be stored.
   */
  static async open(request: StoreRequest): Promise<ExperimentStore> {
    const { datasetName, experimentName, description, metadata, listExamples } = request;
    const client = request.client ?? new Client();
    const ownsClient = request.client === undefined;
    try {
      if (!client.enabled) {
        throw new Error(
          "tracing is off (MILLRACE_TRACING=false, or the client's option `enabled`)",
        );
      }
      await assertReachable(request.client);
      // This limit is shorter than that of the hook, so that the reason for a failure is reported before the hook times
      // out.
      const signal = AbortSignal.timeout(openTimeoutMs - 5_000);
      const { id: datasetId } = await openDataset(client, { name: datasetName, signal });
      await syncExamples(client, { datasetId, examples: listExamples(datasetId), signal });
      const version = await pinVersion(client, { datasetId, asOf: undefined }, signal);
      const project = await createExperiment(
        {
          client,
          name: experimentName,
          description,
          metadata,
          datasetId,
          datasetVersion: version.asOf,
          signal,
        },
        {},
      );
      const info = {
        id: project.id,
        name: project.name,
        ...(await readUrl(client, { projectId: project.id, datasetId })),
        datasetId,
        datasetVersion: version.asOf,
      };
      return new ExperimentStore({ client, project, info, ownsClient });
    } catch (error) {
      if (ownsClient) {
        await client.close({ timeoutMs: 1_000 });
      }
      throw error;
    }
  }

  /**
   * Queues a finished row to be stored. The test does not wait until it is stored: rows that are not stored yet stay in
   * memory, which has room for all rows of one test file.
   */
  add(row: NamedRow): void {
    void this.#committer.add({ number: this.#rows.add(row), row, isRepeated: false });
  }

  /** Counts a row whose run the client did not record. */
  countUnrecorded(): void {
    this.#unrecorded += 1;
  }

  /** Sends the remaining results, and ends the experiment. Returns problems as sentences. Never throws. */
  async close(): Promise<readonly string[]> {
    const problems: string[] = [];
    const isInTime = await settleWithin(this.#finish(problems), closeTimeoutMs);
    const missing = this.#rows.countMissing();
    return [
      ...(missing > 0
        ? [
            `${missing} results are not on the server: ${problems[0] ?? this.#committer.lastFailure}.`,
          ]
        : problems.map((problem) => `The experiment was not ended: ${problem}.`)),
      ...(this.#unrecorded > 0
        ? [
            `${this.#unrecorded} results are not stored, because the client does not record every run. Use a client with samplingRate: 1.`,
          ]
        : []),
      ...(isInTime
        ? []
        : [
            `Sending the results took more than ${closeTimeoutMs} ms, so some may be missing. If a test installs fake timers, restore the real ones at its end.`,
          ]),
    ];
  }

  async #finish(problems: string[]): Promise<void> {
    try {
      // This request waits for a server that is restarting. Without it, the request of each remaining batch would wait
      // separately.
      await this.client.datasets.list({ limit: 1, signal: AbortSignal.timeout(20_000) }).toArray();
      await this.#committer.drain();
      await this.client.projects.update({
        projectId: this.project.id,
        endTime: new Date().toISOString(),
      });
    } catch (error) {
      problems.push(readMessage(error));
    } finally {
      if (this.#ownsClient) {
        await this.client.close(problems.length > 0 ? { timeoutMs: 1_000 } : {});
      }
    }
  }
}

/**
 * Sends one request with few attempts, so that without a server, tests don't wait for the usual number of attempts.
 *
 * @throws Error if no server responds.
 */
async function assertReachable(client: Client | undefined): Promise<void> {
  // A client of the caller keeps its own number of attempts.
  const probe = client ?? new Client({ attempts: 2 });
  try {
    await probe.datasets.list({ limit: 1, signal: AbortSignal.timeout(probeTimeoutMs) }).toArray();
  } catch (error) {
    if (error instanceof AbortError) {
      throw new Error(`no server has responded within ${probeTimeoutMs} ms`, { cause: error });
    }
    // If the server responds with an error, the requests that follow may still succeed, because they are retried.
    if (!(error instanceof HttpError)) {
      throw error;
    }
  } finally {
    if (client === undefined) {
      await probe.close();
    }
  }
}

/** The rows of a suite. The content of a row is removed when the server has acknowledged the row. */
class UnacknowledgedRows {
  readonly #rows: UntypedRow[] = [];
  /** The names of the runs that the server has not acknowledged, by their ids. */
  readonly #names = new Map<string, string>();

  add({ name, ...row }: NamedRow): number {
    this.#names.set(row.runId, name);
    return this.#rows.push({ ...row, isResumed: false }) - 1;
  }

  /** Returns the number of rows that the server has not acknowledged. */
  countMissing(): number {
    return this.#names.size;
  }

  findName(runId: string): string {
    return this.#names.get(runId) ?? "test";
  }

  async *readRows(): AsyncGenerator<UntypedRow, void> {
    yield* this.#rows;
  }

  async writeAcknowledged(from: number, to: number): Promise<void> {
    for (let number = from; number < to; number += 1) {
      const row = this.#rows[number];
      if (row !== undefined) {
        const { outputs: _, referenceOutputs: __, ...otherFields } = row;
        this.#rows[number] = { ...otherFields, inputs: undefined, scores: [] };
        this.#names.delete(row.runId);
      }
    }
  }
}
