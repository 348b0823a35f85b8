import { minuteMicros } from "../model/durations.ts";
import { createHash } from "node:crypto";
import type { AnnotationQueue, EntryQuery, QueueEntry } from "./annotation-queue.ts";

/** The name of the reviewer that represents API clients, who pass no name. */
export const namelessReviewer = "";

/**
 * Derives a UUID from a reviewer's name (RFC 9562, version 8), because the LangSmith API identifies reviewers by UUIDs.
 * The same name always results in the same UUID.
 */
export function toReviewerId(name: string): string {
  const digits = createHash("sha256").update(`reviewer ${name}`).digest("hex");
  const variant = ((Number.parseInt(digits.slice(16, 17), 16) & 3) | 8).toString(16);
  const uuidParts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    variant + digits.slice(17, 20),
    digits.slice(20, 32),
  ];
  return uuidParts.join("-");
}

/** How the runs of a queue are reviewed. */
export interface ReviewRules {
  /** Number of reviewers who must finish a run before it counts as completed. */
  readonly reviewersPerRun: number;
  /** Duration of a claim; `undefined` if the queue has disabled claims, so that reviewers may work on the same run. */
  readonly claimMicros: number | undefined;
}

/** Converts the reviewer fields of a queue, as the client sent them, to rules. Null means the default. */
export function toReviewRules({ reviewers }: Pick<AnnotationQueue, "reviewers">): ReviewRules {
  const { num_reviewers_per_item: count, reservation_minutes: minutes } = reviewers;
  return {
    reviewersPerRun: toPositiveInteger(count),
    claimMicros:
      reviewers["enable_reservations"] === false
        ? undefined
        : toPositiveInteger(minutes) * minuteMicros,
  };
}

const toPositiveInteger = (value: unknown): number =>
  typeof value === "number" && value >= 1 ? Math.floor(value) : 1;

/** Identifies an entry and a reviewer. */
export interface ReviewKey {
  readonly queueId: string;
  /** Id of the entry, not of the run. */
  readonly entryId: string;
  readonly reviewer: string;
}

/** The entry that a reviewer wants to claim. */
export type ReviewChoice =
  /** The first entry that waits for the reviewer; entries that the reviewer has skipped come last. */
  | { readonly kind: "next" }
  /** The nearest entry that waits for the reviewer, after or before the entry `entryId`. */
  | { readonly kind: "after" | "before"; readonly entryId: string }
  /** This entry, even if the reviewer has finished it. */
  | { readonly kind: "this"; readonly entryId: string };

/** A reviewer's request to claim an entry. */
export interface ReviewRequest {
  readonly queueId: string;
  readonly reviewer: string;
  readonly choice: ReviewChoice;
}

/** An entry that a reviewer has claimed. */
export interface ClaimedRun extends QueueEntry {
  /** Number of entries before this one in the queue. */
  readonly index: number;
  /**
   * When the claim expires; `null` if there is no claim, because the queue has disabled claims or the reviewer has
   * finished the entry.
   */
  readonly claimedUntilMicros: number | null;
}

/** How much of a queue one reviewer has reviewed. */
export interface QueueReviewer {
  readonly name: string;
  /** Number of runs that the reviewer has finished. */
  readonly done: number;
  /** Number of runs that the reviewer has claimed now. */
  readonly claimed: number;
}

export interface QueueProgress {
  /** Number of runs in the queue. */
  readonly total: number;
  /** Number of runs that enough reviewers have finished. */
  readonly completed: number;
  /** The reviewers by name, at most 100. */
  readonly reviewers: readonly QueueReviewer[];
  /** Id of the entry that the requesting reviewer finished last; `null` if there is none. */
  readonly lastDoneId: string | null;
}

/** An entry in a list, with some fields of its run. */
export interface ListedEntry extends QueueEntry {
  readonly projectId: string;
  readonly name: string;
  readonly runType: string;
  readonly hasError: boolean;
  readonly startMicros: number;
  readonly endMicros: number | null;
}

/** Reads the runs, reviews and progress of annotation queues. */
export interface QueueReviewReads {
  /** Lists the entries of a queue in its order. */
  listRuns(tenantId: string, query: EntryQuery): Promise<readonly ListedEntry[]>;
  readProgress(tenantId: string, queueId: string, reviewer: string): Promise<QueueProgress>;
}

/**
 * Claims and reviews entries. Each method throws RequestError 404 if there is no such queue, or no such entry in it.
 */
export interface QueueReviewWrites {
  /**
   * Claims an entry for a reviewer, or renews the claim. Returns `undefined` if no entry waits for the reviewer.
   *
   * @throws RequestError 409: other reviewers have claimed or finished the entry.
   */
  claim(tenantId: string, request: ReviewRequest): Promise<ClaimedRun | undefined>;
  /** Releases a claim. With `isSkipped`, the entry comes last for this reviewer. Repeating the call changes nothing. */
  release(tenantId: string, key: ReviewKey, isSkipped: boolean): Promise<void>;
  /**
   * Marks the entry as finished by the reviewer; repeating the call changes nothing.
   *
   * @throws RequestError 409: other reviewers have claimed or finished the entry.
   */
  finish(tenantId: string, key: ReviewKey): Promise<QueueEntry>;
  /** Marks the entry as not finished by the reviewer, and claims it again. */
  reopen(tenantId: string, key: ReviewKey): Promise<ClaimedRun>;
}
