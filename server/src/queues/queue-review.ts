import { createHash } from "node:crypto";
import type { AnnotationQueue, EntryQuery, QueueEntry } from "./annotation-queue.ts";

/** The name of the reviewer that represents API callers, who pass no name. */
export const namelessReviewer = "";

/**
 * The platform identifies reviewers by UUIDs: this derives one from the name, always the same (RFC 9562, version 8).
 */
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
  /** Duration of a claim; `undefined` if runs are not claimed, so that several reviewers may work on the same run. */
  readonly claimMicros: number | undefined;
}

/** Interprets the reviewer fields of a queue; null counts as omitted. */
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

/** Identifies an entry and a reviewer. */
export interface ReviewKey {
  readonly queueId: string;
  /** Id of the entry, not of the run. */
  readonly entryId: string;
  readonly reviewer: string;
}

/** Selects the entry that a reviewer wants to claim. */
export type ReviewPick =
  /** The first entry that waits for the reviewer; entries that they skipped come last. */
  | { readonly kind: "next" }
  /** The nearest entry that waits for the reviewer, after or before another one. */
  | { readonly kind: "after" | "before"; readonly entryId: string }
  /** This entry, even if the reviewer is done with it. */
  | { readonly kind: "this"; readonly entryId: string };

export interface ReviewRequest {
  readonly queueId: string;
  readonly reviewer: string;
  readonly pick: ReviewPick;
}

/** An entry that a reviewer has claimed. */
export interface ClaimedRun extends QueueEntry {
  /** Number of entries before it in the queue. */
  readonly index: number;
  /** When the claim expires; `null` without a claim, because the queue has no time limit or the reviewer is done. */
  readonly untilMicros: number | null;
}

/** A reviewer of a queue. */
export interface QueueReviewer {
  readonly name: string;
  /** Number of runs that the reviewer has finished. */
  readonly done: number;
  /** Number of runs that the reviewer has claimed now. */
  readonly claimed: number;
}

/** The review progress of a queue. */
export interface QueueProgress {
  readonly total: number;
  /** Number of runs that enough reviewers have finished. */
  readonly completed: number;
  /** Ordered by name, at most 100. */
  readonly reviewers: readonly QueueReviewer[];
  /** Id of the entry that the requesting reviewer finished last. */
  readonly lastDone: string | null;
}

/** An entry, with the fields of its run that a list shows. */
export interface ReviewedRun extends QueueEntry {
  readonly name: string;
  readonly runType: string;
  readonly hasError: boolean;
  readonly startMicros: number;
  readonly endMicros: number | null;
}

export interface QueueReviewReads {
  /** In the order of the queue. */
  listRuns(tenantId: string, query: EntryQuery): Promise<readonly ReviewedRun[]>;
  progress(tenantId: string, queueId: string, reviewer: string): Promise<QueueProgress>;
}

/** Each method throws RequestError 404: no such queue, or no such entry in it. */
export interface QueueReviewWrites {
  /**
   * Claims an entry for a reviewer, or renews the claim. Returns `undefined` if no entry waits for the reviewer.
   *
   * @throws RequestError 409: other reviewers have claimed or finished the entry.
   */
  claim(tenantId: string, request: ReviewRequest): Promise<ClaimedRun | undefined>;
  /** Releases a claim; repeating the call changes nothing. */
  release(tenantId: string, key: ReviewKey, isSkipped: boolean): Promise<void>;
  /**
   * Marks the entry as done by the reviewer; repeating the call changes nothing.
   *
   * @throws RequestError 409: other reviewers have claimed or finished the entry.
   */
  finish(tenantId: string, key: ReviewKey): Promise<QueueEntry>;
  /** Undoes the reviewer's done mark and claims the entry again. */
  reopen(tenantId: string, key: ReviewKey): Promise<ClaimedRun>;
}
