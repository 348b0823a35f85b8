import type { Client, CreateFeedback, WirePost } from "../../main/index.ts";
import { describeError } from "../rows/deadline.ts";
import { createFeedbackId, createNamedId } from "../ids.ts";
import type { Journal, StoredRow } from "./journal.ts";
import { createRunMetadata, toPayload } from "../payload.ts";
import type { Summary } from "../summary.ts";

/** A row in the journal whose run and scores the server has not acknowledged yet. */
export interface PendingRow {
  /** Number of the row in the journal. */
  readonly number: number;
  readonly row: StoredRow;
  /** Whether an earlier process began to evaluate the row, so that the server may already have a run for it. */
  readonly isRepeated: boolean;
}

/** Options of a {@link Committer}. */
export interface CommitterInit {
  readonly client: Client;
  readonly journal: Pick<Journal, "readRows" | "writeAcknowledged">;
  readonly summary: Summary;
  /** The project of the rows' runs. */
  readonly project: { readonly id: string; readonly name: string };
  /** Returns the name of a row's run, which is needed to send the run again. */
  readonly toRunName: (row: StoredRow) => string;
  /** Returns the id of a row's example; `undefined` if the rows are not examples of a dataset. */
  readonly toReferenceExample: (row: StoredRow) => string | undefined;
  /** Whether the rows' runs are recorded by this evaluation. Otherwise only their scores are stored. */
  readonly recordsRuns: boolean;
  /** Namespace for the ids of the feedback, so that they differ from those of another evaluation of the same runs. */
  readonly feedbackNamespace?: string | undefined;
  readonly warn: (message: string) => void;
}

/** Number of unacknowledged rows above which {@link Committer.add} waits. This bounds the memory. */
const maxPending = 2_000;
/** Number of rows that are acknowledged together. */
const batchRows = 1_000;
/** If no run is delivered for this time, in milliseconds, the runs of a batch count as undelivered. */
const deliveryTimeoutMs = 10_000;
/** If the server is unavailable for this time, in milliseconds, scores are not sent and stay in the journal. */
const patienceMs = 30_000;
/** Maximum number of runs that are looked up with one request. */
const runsPerLookup = 100;

/**
 * Sends finished rows to the server in batches, and stores in the journal which rows the server has acknowledged. A row
 * is acknowledged if its run was delivered and its scores were stored as feedback. A row that can't be sent stays in
 * the journal, and is sent by the next evaluation of the same experiment.
 */
export class Committer {
  readonly #init: CommitterInit;
  readonly #waiting: PendingRow[] = [];
  #isCommitting = false;
  #idle: Promise<void> = Promise.resolve();
  readonly #capacityWaiters: (() => void)[] = [];
  readonly #failedRanges: (readonly [from: number, to: number])[] = [];
  #unacknowledged = 0;
  #lastFailure = "";

  constructor(init: CommitterInit) {
    this.#init = init;
  }

  /** Number of rows that could not be sent. */
  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  /** Why the last rows that failed could not be sent; empty if none failed. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** Adds a finished row. Waits while too many rows are unacknowledged. */
  async add(pending: PendingRow): Promise<void> {
    this.#waiting.push(pending);
    if (!this.#isCommitting) {
      this.#isCommitting = true;
      this.#idle = this.#commitAll();
    }
    if (this.#waiting.length > maxPending) {
      await new Promise<void>((resolve) => {
        this.#capacityWaiters.push(resolve);
      });
    }
  }

  /** Sends the remaining rows. Then tries once more to send the rows that could not be sent before. */
  async drain(): Promise<void> {
    await this.#idle;
    const failedRanges = this.#failedRanges.splice(0);
    if (failedRanges.length > 0) {
      this.#unacknowledged = 0;
      await this.resendRows((number) =>
        failedRanges.some(([start, end]) => number >= start && number < end),
      );
    }
    if (this.#unacknowledged > 0) {
      this.#init.warn(
        `${this.#unacknowledged} rows are in the journal but not on the server: ${this.#lastFailure}. Run the same command again to send them`,
      );
    }
  }

  /**
   * Sends rows from the journal again: the runs that the server does not have, and all scores.
   *
   * @param isSelected - selects rows by their numbers.
   */
  async resendRows(isSelected: (number: number) => boolean): Promise<void> {
    let number = 0;
    let batch: PendingRow[] = [];
    for await (const { isResumed: _, ...row } of this.#init.journal.readRows()) {
      if (isSelected(number)) {
        batch.push({ number, row, isRepeated: false });
      }
      number += 1;
      if (batch.length === runsPerLookup) {
        await this.#resendBatch(batch);
        batch = [];
      }
    }
    await this.#resendBatch(batch);
  }

  async #resendBatch(batch: readonly PendingRow[]): Promise<void> {
    if (batch.length > 0) {
      await this.#attempt(batch, async () => {
        if (this.#init.recordsRuns) {
          await this.#restoreRuns(batch);
        }
        await this.#storeScores(batch);
      });
    }
  }

  async #commitAll(): Promise<void> {
    /** Sending of the previous batch's scores, which takes place while the runs of the next batch are delivered. */
    let previous: Promise<boolean> | undefined;
    while (this.#waiting.length > 0 || previous !== undefined) {
      const batch = this.#waiting.splice(0, batchRows);
      this.#capacityWaiters.splice(0).forEach((resume) => resume());
      const isStored = await this.#attempt(batch, () => this.#storeRuns(batch));
      await previous;
      previous =
        isStored && batch.length > 0
          ? this.#attempt(batch, () => this.#storeScores(batch))
          : undefined;
    }
    this.#isCommitting = false;
  }

  async #storeRuns(batch: readonly PendingRow[]): Promise<void> {
    if (this.#init.recordsRuns && batch.length > 0) {
      if (!(await this.#deliverRuns())) {
        await this.#restoreRuns(batch);
      }
      await this.#sendEnds(batch);
    }
  }

  async #storeScores(batch: readonly PendingRow[]): Promise<void> {
    await this.#sendScores(batch);
    for (const [start, end] of toRanges(batch)) {
      await this.#init.journal.writeAcknowledged(start, end);
    }
    this.#init.summary.addAcknowledged(batch.length);
  }

  /** Calls the action and returns whether it succeeded. After a failure, the rows stay in the journal. */
  async #attempt(batch: readonly PendingRow[], action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      this.#unacknowledged += batch.length;
      this.#failedRanges.push(...toRanges(batch));
      this.#lastFailure = describeError(error);
      return false;
    }
  }

  /**
   * Waits until all recorded runs are delivered, or until none is delivered for {@link deliveryTimeoutMs}. Returns
   * whether all of them were delivered.
   */
  async #deliverRuns(): Promise<boolean> {
    let hasLost = false;
    while (true) {
      const { delivered, lost, pending } = await this.#init.client.flush({
        timeoutMs: deliveryTimeoutMs,
      });
      hasLost ||= lost > 0;
      if (pending === 0 || delivered === 0) {
        return pending === 0 && !hasLost;
      }
    }
  }

  /**
   * Sends the ends of runs that an earlier process began. Servers ignore a second start of a run, together with an end
   * that was sent with that start.
   */
  async #sendEnds(batch: readonly PendingRow[]): Promise<void> {
    const repeated = batch.filter(({ isRepeated }) => isRepeated);
    if (repeated.length > 0) {
      repeated.forEach(({ row }) => this.#sendEnd(row));
      await this.#deliverRuns();
    }
  }

  /**
   * Sends the runs, or the ends of runs, that the server does not have.
   *
   * @throws Error if the server does not have all of them afterwards.
   */
  async #restoreRuns(batch: readonly PendingRow[]): Promise<void> {
    for (let start = 0; start < batch.length; start += runsPerLookup) {
      const rows = batch.slice(start, start + runsPerLookup).map(({ row }) => row);
      const states = await this.#findRuns(rows);
      const incomplete = rows.filter(({ runId }) => states.get(runId) !== "ended");
      for (const row of incomplete) {
        if (states.has(row.runId)) {
          this.#sendEnd(row);
        } else {
          this.#sendRun(row);
        }
      }
      if (incomplete.length > 0) {
        await this.#deliverRuns();
        const newStates = await this.#findRuns(incomplete);
        const missing = incomplete.filter(({ runId }) => newStates.get(runId) !== "ended");
        if (missing.length > 0) {
          const reason = this.#init.client.stats().lastFailure?.cause ?? "it refused them";
          throw new Error(`the server does not have ${missing.length} runs (${reason})`);
        }
      }
    }
  }

  /** Returns which of the rows' runs the server has, and whether it has their ends. */
  async #findRuns(rows: readonly StoredRow[]): Promise<ReadonlyMap<string, "open" | "ended">> {
    const states = new Map<string, "open" | "ended">();
    const runs = this.#init.client.runs.list({
      ids: rows.map(({ runId }) => runId),
      projectIds: [this.#init.project.id],
      select: ["id", "endTime"],
    });
    for await (const { id, endTime } of runs) {
      states.set(id, endTime === undefined ? "open" : "ended");
    }
    return states;
  }

  /** Records the whole run of a row from the journal. */
  #sendRun(row: StoredRow): void {
    const { client, project, toRunName, toReferenceExample } = this.#init;
    const run: WirePost = {
      id: row.runId,
      name: toRunName(row),
      run_type: "chain",
      start_time: row.startTime,
      inputs: toPayload(row.inputs, "input"),
      session_name: project.name,
      reference_example_id: toReferenceExample(row),
      extra: { metadata: createRunMetadata(row) },
      ...toRunEnd(row),
    };
    void client.createRun(run);
  }

  /** Records only the end of a row's run from the journal. */
  #sendEnd(row: StoredRow): void {
    void this.#init.client.updateRun(row.runId, toRunEnd(row));
  }

  /** @throws Error if the server refused a score. */
  async #sendScores(batch: readonly PendingRow[]): Promise<void> {
    const { client, project, feedbackNamespace } = this.#init;
    const feedback = batch
      .flatMap(({ row }) => toFeedback(row, project.id))
      .map((entry) =>
        feedbackNamespace === undefined
          ? entry
          : { ...entry, id: createNamedId(feedbackNamespace, entry.id) },
      );
    if (feedback.length === 0) {
      return;
    }
    const { rejected, faults } = await client.feedback.upload(feedback, {
      chunkCount: 250,
      patienceMs,
    });
    if (rejected > 0) {
      throw new Error(
        `the server refused ${rejected} scores (${faults[0]?.reason ?? "no reason"})`,
      );
    }
  }
}

/**
 * Returns the end of a row's run in the wire format, with the trace id and the dotted order, which servers need in
 * every record.
 */
function toRunEnd({ runId, startTime, durationMs, error, outputs }: StoredRow) {
  const stamp = startTime.replace(/[-:.]/g, "").replace("Z", "000Z");
  return {
    trace_id: runId,
    dotted_order: `${stamp}${runId}`,
    end_time: new Date(Date.parse(startTime) + durationMs).toISOString(),
    outputs: error !== undefined && outputs === undefined ? null : toPayload(outputs, "outputs"),
    error: error ?? null,
  };
}

/**
 * Converts the scores of a row to feedback. The ids are derived from the run, so sending the feedback again changes
 * nothing.
 */
function toFeedback(
  row: StoredRow,
  runProjectId: string,
): readonly (CreateFeedback & { readonly id: string })[] {
  return row.scores.map((score, index) => {
    const { key, error, sourceRunId, metadata, comment, ...judgement } = score;
    return {
      id: createFeedbackId(row.runId, key, index),
      runId: row.runId,
      key,
      ...judgement,
      comment: error ?? comment,
      ...(error === undefined ? {} : { error: true }),
      sourceType: "model",
      sourceMetadata: { ...metadata, ...(error === undefined ? {} : { error: true }) },
      sourceRunId,
      traceId: row.runId,
      runProjectId,
      runStartTime: row.startTime,
    };
  });
}

/** Groups the numbers of rows into ranges of consecutive numbers. A range excludes its end. */
function toRanges(batch: readonly PendingRow[]): readonly (readonly [from: number, to: number])[] {
  const ranges: [number, number][] = [];
  for (const { number } of batch) {
    const lastRange = ranges.at(-1);
    if (lastRange?.[1] === number) {
      lastRange[1] = number + 1;
    } else {
      ranges.push([number, number + 1]);
    }
  }
  return ranges;
}
