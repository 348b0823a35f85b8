import { RequestError } from "../model/errors.ts";
import type { PageRange } from "../feedback/feedback.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The fields of a queue that a client writes. */
export interface QueueFields {
  readonly name: string;
  readonly description: string | null;
  readonly defaultDatasetId: string | null;
  readonly rubricInstructions: string | null;
  readonly rubricItems: readonly JsonObject[] | null;
  readonly metadata: JsonObject | null;
  /** The JSON members, as the client sent them, that set how many reviewers a run needs and how they claim it. */
  readonly reviewers: JsonObject;
}

/** The fields of a queue to change; `undefined` leaves a field unchanged. */
export type QueueChanges = {
  readonly [Name in keyof QueueFields]: QueueFields[Name] | undefined;
};

/** A queue that is to be created. */
export interface QueueDraft extends QueueFields {
  readonly id: string;
  /** `null` means the current time. */
  readonly createdMicros: number | null;
}

/** A stored annotation queue, in which people review runs. */
export interface AnnotationQueue extends QueueFields {
  readonly id: string;
  readonly tenantId: string;
  readonly createdMicros: number;
  readonly updatedMicros: number;
  /** Number of runs in the queue. */
  readonly size: number;
}

export interface QueueEntry {
  /** Id of the entry, not of the run. */
  readonly id: string;
  readonly queueId: string;
  readonly runId: string;
  /** When the run was added, which determines the order of the queue. */
  readonly addedMicros: number;
  /** When a reviewer last finished the run; `null` if no reviewer has finished it. */
  readonly reviewedMicros: number | null;
  /** When as many reviewers as the queue requires had finished the run; `null` until then. */
  readonly completedMicros: number | null;
  /** The reviews by the reviewers who have finished the run or claimed it. */
  readonly reviews: readonly QueueReview[];
}

export interface QueueReview {
  readonly reviewer: string;
  /** When the reviewer's claim expires; `null` if the reviewer has no claim. */
  readonly claimedUntilMicros: number | null;
  /** When the reviewer finished the run; `null` until then. */
  readonly doneMicros: number | null;
}

/** The status of an entry, as one reviewer sees it. */
export const reviewStatuses = ["needs_my_review", "needs_others_review", "completed"] as const;
export type ReviewStatus = (typeof reviewStatuses)[number];

/** Selects queues. All filters that are set must match. */
export interface QueueQuery extends PageRange {
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly nameContains?: string;
  readonly defaultDatasetId?: string;
  /** Only queues that contain this run. */
  readonly runId?: string;
  readonly sortBy: "name" | "created_at" | "updated_at";
  readonly isDescending: boolean;
}

/** Identifies a run. If `projectId` is set, the run must belong to that project. */
export interface RunKey {
  readonly runId: string;
  readonly projectId: string | null;
}

export interface EntryChanges {
  /** `undefined` leaves the time unchanged; `null` marks the run as not reviewed. */
  readonly reviewedMicros: number | null | undefined;
  /** `undefined` leaves the time unchanged, and with it the position in the queue. */
  readonly addedMicros: number | undefined;
}

/** Identifies an entry of a queue. */
export interface EntryKey {
  readonly queueId: string;
  readonly entryId: string;
}

/** Selects entries of a queue. */
export interface EntryQuery extends PageRange {
  readonly queueId: string;
  /** `undefined` selects entries of any status. */
  readonly status: ReviewStatus | undefined;
}

export interface AnnotationQueueReads {
  find(tenantId: string, id: string): Promise<AnnotationQueue | undefined>;
  list(tenantId: string, query: QueueQuery): Promise<readonly AnnotationQueue[]>;
  /** Lists entries in the order of the queue. */
  listEntries(tenantId: string, query: EntryQuery): Promise<readonly QueueEntry[]>;
  countEntries(tenantId: string, query: Pick<EntryQuery, "queueId" | "status">): Promise<number>;
  /** Reads when each run was last added to a queue, in microseconds, by run id. Runs in no queue are left out. */
  readLastAdded(tenantId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

/** Writes annotation queues and their entries. */
export interface AnnotationQueueWrites {
  /**
   * Creates a queue. Repeating the call with the same content changes nothing.
   *
   * @throws RequestError 404: no such dataset. 409: another queue has the id.
   */
  create(tenantId: string, draft: QueueDraft): Promise<AnnotationQueue>;
  /**
   * Updates a queue; the members of `reviewers` are merged with the stored ones.
   *
   * @throws RequestError 404: no such queue, or no such dataset.
   */
  update(tenantId: string, id: string, changes: QueueChanges): Promise<AnnotationQueue>;
  /** Deletes queues, and returns the ids of those that existed. The runs in the queues are not deleted. */
  delete(tenantId: string, ids: readonly string[]): Promise<readonly string[]>;
  /**
   * Adds runs to the end of a queue, in the order of `keys`: either all of them or none. A run that is already in the
   * queue keeps its position.
   *
   * @throws RequestError 404: there is no such queue, or runs do not exist; the message lists them.
   */
  addRuns(tenantId: string, id: string, keys: readonly RunKey[]): Promise<readonly QueueEntry[]>;
  /**
   * Changes the entry of a run.
   *
   * @throws RequestError 404: no such queue, or no such entry in it.
   */
  updateRun(tenantId: string, key: EntryKey, changes: EntryChanges): Promise<QueueEntry>;
  /**
   * Removes a run from a queue.
   *
   * @throws RequestError 404: no such queue, or no such entry in it.
   */
  removeRun(tenantId: string, key: EntryKey): Promise<void>;
}

/** Creates the error for a queue that does not exist. The LangSmith API responds with the same message. */
export const createMissingQueueError = (id: string): RequestError =>
  new RequestError(404, `Annotation queue with ID ${id} not found`);
