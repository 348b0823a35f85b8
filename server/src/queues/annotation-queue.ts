import { RequestError } from "../model/errors.ts";
import type { PageRange } from "../feedback/feedback.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** What of a queue a caller writes. */
export interface QueueFields {
  readonly name: string;
  readonly description: string | null;
  readonly defaultDatasetId: string | null;
  readonly rubricInstructions: string | null;
  readonly rubricItems: readonly JsonObject[] | null;
  readonly metadata: JsonObject | null;
  /** How many review a run, and how they claim it: as the caller wrote it. */
  readonly reviewers: JsonObject;
}

/** What is `undefined` stays as it is. */
export type QueueChanges = {
  readonly [Name in keyof QueueFields]: QueueFields[Name] | undefined;
};

export interface QueueDraft extends QueueFields {
  readonly id: string;
  /** `null`: now. */
  readonly createdMicros: number | null;
}

export interface AnnotationQueue extends QueueFields {
  readonly id: string;
  readonly tenantId: string;
  readonly createdMicros: number;
  readonly updatedMicros: number;
  /** Runs in it. */
  readonly size: number;
}

/** A run's place in a queue. */
export interface QueueEntry {
  /** Of the place. */
  readonly id: string;
  readonly queueId: string;
  readonly runId: string;
  /** The order of the queue. */
  readonly addedMicros: number;
  /** When a reviewer was last done with it; `null` until one was. */
  readonly reviewedMicros: number | null;
  /** `null` until as many were done with it as the queue asks for. */
  readonly completedMicros: number | null;
  /** Who are done with it, and who have it now. */
  readonly reviews: readonly QueueReview[];
}

/** One reviewer's part in a run of a queue. */
export interface QueueReview {
  readonly reviewer: string;
  /** Until when they have claimed it; `null` where they have not, or no longer. */
  readonly untilMicros: number | null;
  /** `null` until they are done. */
  readonly doneMicros: number | null;
}

/** Where a run of a queue is, for one reviewer. */
export const reviewStatuses = ["needs_my_review", "needs_others_review", "completed"] as const;
export type ReviewStatus = (typeof reviewStatuses)[number];

/** Every filter that is given must hold. */
export interface QueueQuery extends PageRange {
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly nameContains?: string;
  readonly defaultDatasetId?: string;
  /** Queues that this run is in. */
  readonly runId?: string;
  readonly sortBy: "name" | "created_at" | "updated_at";
  readonly isDescending: boolean;
}

/** A run as a caller names it, with the project that it must be in where that is given. */
export interface RunKey {
  readonly runId: string;
  readonly projectId: string | null;
}

export interface EntryChanges {
  /** `undefined` stays; `null`: not reviewed. */
  readonly reviewedMicros: number | null | undefined;
  readonly addedMicros: number | undefined;
}

export interface EntryKey {
  readonly queueId: string;
  readonly entryId: string;
}

export interface EntryQuery extends PageRange {
  readonly queueId: string;
  /** `undefined`: any. */
  readonly status: ReviewStatus | undefined;
}

export interface AnnotationQueueReads {
  find(tenantId: string, id: string): AnnotationQueue | undefined;
  list(tenantId: string, query: QueueQuery): readonly AnnotationQueue[];
  /** In the order of the queue. */
  listEntries(tenantId: string, query: EntryQuery): readonly QueueEntry[];
  size(tenantId: string, query: Pick<EntryQuery, "queueId" | "status">): number;
  /** Of those runs that are in queues: when each was last added to one, in microseconds. */
  lastAdded(tenantId: string, runIds: readonly string[]): ReadonlyMap<string, number>;
}

export interface AnnotationQueueWrites {
  /**
   * Repeated with the same content, it changes nothing.
   *
   * @throws RequestError 404: no such dataset. 409: the id is another queue's.
   */
  create(tenantId: string, draft: QueueDraft): AnnotationQueue;
  /** Of `reviewers`, what is given replaces what was there. @throws RequestError 404: no such queue, or no such dataset. */
  update(tenantId: string, id: string, changes: QueueChanges): AnnotationQueue;
  /** Deletes the queues that exist and returns their ids. Their runs stay. */
  delete(tenantId: string, ids: readonly string[]): readonly string[];
  /**
   * At the end, in the order given; a run that is in it keeps its place. All of them, or none.
   *
   * @throws RequestError 404: no such queue; or no such runs, which it names.
   */
  addRuns(tenantId: string, id: string, keys: readonly RunKey[]): readonly QueueEntry[];
  /** @throws RequestError 404: no such queue, or no such entry in it. */
  updateRun(tenantId: string, key: EntryKey, changes: EntryChanges): QueueEntry;
  /** @throws RequestError 404: no such queue, or no such entry in it. */
  removeRun(tenantId: string, key: EntryKey): void;
}

/** The text is the specification's (section 8). */
export const missingQueue = (id: string): RequestError =>
  new RequestError(404, `Annotation queue with ID ${id} not found`);
