import { createHash } from "node:crypto";
import type { AnnotationQueue, EntryQuery, QueueEntry } from "./annotation-queue.ts";

/** The reviewer of API calls that name none. */
export const namelessReviewer = "";

/** The platform knows reviewers by UUIDs: one made of the name, the same each time (RFC 9562, version 8). */
export function toReviewerId(name: string): string {
  const digits = createHash("sha256").update(`reviewer ${name}`).digest("hex");
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    variant + digits.slice(17, 20),
    digits.slice(20, 32),
  ];
  return parts.join("-");
}

/** How runs of a queue are reviewed. */
export interface ReviewRules {
  /** Reviewers who must be done with a run before it is completed. */
  readonly reviewersPerRun: number;
  /** How long a claim holds; `undefined`: runs are not claimed, and reviewers may meet. */
  readonly claimMicros: number | undefined;
}

/** What the fields of a queue mean. Those that are null are read as left out. */
export function toReviewRules({ reviewers }: Pick<AnnotationQueue, "reviewers">): ReviewRules {
  const { num_reviewers_per_item: count, reservation_minutes: minutes } = reviewers;
  return {
    reviewersPerRun: toCount(count),
    claimMicros:
      reviewers["enable_reservations"] === false ? undefined : toCount(minutes) * minuteMicros,
  };
}

const minuteMicros = 60_000_000;
const toCount = (value: unknown): number =>
  typeof value === "number" && value >= 1 ? Math.floor(value) : 1;

/** A run in a queue, for one reviewer. */
export interface ReviewKey {
  readonly queueId: string;
  /** Of the place, not of the run. */
  readonly entryId: string;
  readonly reviewer: string;
}

/** Which run a reviewer asks for. */
export type ReviewPick =
  /** The first in the order of the queue that waits for them; those that they skipped come last. */
  | { readonly kind: "next" }
  /** The nearest that waits for them, behind or before another. */
  | { readonly kind: "after" | "before"; readonly entryId: string }
  /** That one, also where they are done with it. */
  | { readonly kind: "this"; readonly entryId: string };

export interface ReviewRequest {
  readonly queueId: string;
  readonly reviewer: string;
  readonly pick: ReviewPick;
}

/** A run that is a reviewer's for the time being. */
export interface ClaimedRun extends QueueEntry {
  /** How many stand before it in the queue. */
  readonly index: number;
  /** When the claim expires; `null` without a claim, because the queue has no time limit or the reviewer is done. */
  readonly untilMicros: number | null;
}

/** One who reviews a queue, or did. */
export interface QueueReviewer {
  readonly name: string;
  /** Runs that they are done with. */
  readonly done: number;
  /** Runs that they have claimed now. */
  readonly claimed: number;
}

/** How far a queue is. */
export interface QueueProgress {
  readonly total: number;
  /** Runs that as many are done with as the queue asks for. */
  readonly completed: number;
  /** By name, at most 100. */
  readonly reviewers: readonly QueueReviewer[];
  /** Of the one who asks: the place that they were done with last. */
  readonly lastDone: string | null;
}

/** A run in a queue, with as much of it as a list shows. */
export interface ReviewedRun extends QueueEntry {
  readonly name: string;
  readonly runType: string;
  readonly hasError: boolean;
  readonly startMicros: number;
  readonly endMicros: number | null;
}

export interface QueueReviewReads {
  /** In the order of the queue. */
  listRuns(tenantId: string, query: EntryQuery): readonly ReviewedRun[];
  progress(tenantId: string, queueId: string, reviewer: string): QueueProgress;
}

/** Each throws RequestError 404: no such queue, or no such run in it. */
export interface QueueReviewWrites {
  /**
   * Claims a run for a reviewer, or renews their claim. `undefined`: none waits for them.
   *
   * @throws RequestError 409: the requested run is claimed by others.
   */
  claim(tenantId: string, request: ReviewRequest): ClaimedRun | undefined;
  /** Gives a claim back; repeated, it changes nothing. */
  release(tenantId: string, key: ReviewKey, isSkipped: boolean): void;
  /** The reviewer is done with it; repeated, it changes nothing. @throws RequestError 409: it is others'. */
  finish(tenantId: string, key: ReviewKey): QueueEntry;
  /** They are not done with it after all, and have claimed it. */
  reopen(tenantId: string, key: ReviewKey): ClaimedRun;
}
