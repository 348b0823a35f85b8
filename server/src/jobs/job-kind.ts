import type { Static, TSchema } from "typebox";
import type { JobProgress, JsonObject, JsonValue } from "./job.ts";

/** The job that a step belongs to. */
export interface JobContext<Parameters> {
  readonly tenantId: string;
  readonly jobId: string;
  /** The parameters that {@link JobKind.prepare} returned. */
  readonly parameters: Parameters;
  /** The progress of the steps before this one. */
  readonly progress: JobProgress;
  /**
   * Aborted when the job is canceled, when the step takes too long and when the server ends. A step that waits for
   * something passes the signal on; a step that only uses the store may ignore it.
   */
  readonly signal: AbortSignal;
}

/** What a step of a job has done. */
export interface JobStep {
  /** Where the next step begins; absent after the last step. */
  readonly cursor?: JsonValue;
  /** Number of items that all steps together have processed, including those that failed. */
  readonly done: number;
  /** Total number of items. If absent, the last known number is kept. */
  readonly total?: number;
  /** Further numbers of the progress, such as `cost_usd`. Each replaces the one with the same name. */
  readonly figures?: Readonly<Record<string, number>>;
  /** The reason for each item of this step that failed. The job continues with the other items. */
  readonly failures?: readonly string[];
  /**
   * The result of the job, which only the last step returns. The UI shows the text `summary`, and links to `dataset_id`
   * and `queue_id`.
   */
  readonly result?: JsonObject;
}

/** A job as its kind prepares it when it is created. */
export interface PreparedJob<Parameters> {
  /** What the job does, in a few words: "Add 1,200 runs to the dataset “qa”". */
  readonly title: string;
  /** The parameters of the steps. If absent, the steps get the parameters of the request. */
  readonly parameters?: Parameters;
  /** Total number of items, if it is known. */
  readonly total?: number;
}

/**
 * A kind of job. Each part of the server declares its kinds as values, which `app/job-kinds.ts` lists.
 *
 * The server may end at any time. The step that it was performing is then performed again, with the same cursor and
 * parameters. A step must therefore be idempotent: performing it twice must have the effect of performing it once. A
 * step that creates something derives its id from the job and the item.
 */
export interface JobKind<Schema extends TSchema = TSchema> {
  /** A name that is unique among all kinds, such as `runs.delete`. Stored jobs contain it. */
  readonly name: string;
  /** The schema of the parameters. It bounds the sizes of all members. */
  readonly parameters: Schema;
  /**
   * Whether clients can't create jobs of this kind with `POST /ui/jobs`. Other routes create such jobs, because they
   * check more than `prepare` can.
   */
  readonly isInternal?: boolean;
  /**
   * Checks the parameters of a new job.
   *
   * @throws RequestError the job can't be created, for example because the dataset does not exist.
   */
  prepare(tenantId: string, parameters: Static<Schema>): Promise<PreparedJob<Static<Schema>>>;
  /**
   * Performs the next part of a job, which should take less than a second, or as long as one call to another server
   * takes: a job is canceled between steps, and its progress is stored after each.
   *
   * @param cursor - the cursor of the previous step; `null` for the first step
   * @throws RequestError with a status from 400 to 499 other than 429: the job fails at once. After any other error,
   * the step is tried again a few times before the job fails.
   */
  step(context: JobContext<Static<Schema>>, cursor: JsonValue): Promise<JobStep>;
}

/** A kind of job for code that does not know the type of its parameters. They have been checked against the schema. */
export type AnyJobKind = JobKind;

/** Declares a kind of job. The types of `prepare` and `step` follow from the schema. */
export const defineJobKind = <Schema extends TSchema>(kind: JobKind<Schema>): AnyJobKind => kind;
