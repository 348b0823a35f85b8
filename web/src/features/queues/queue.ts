import { requireItems, toItems, toRecord, toText } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { toRubricQuestion } from "./rubric.ts";
import type { RubricQuestion } from "./rubric.ts";

/** A person who reviews a queue, or has reviewed runs of it. */
export interface Reviewer {
  readonly name: string;
  /** Number of runs that this person has reviewed. */
  readonly reviewedCount: number;
  /** Number of runs that this person now has a claim on. */
  readonly claimedCount: number;
}

/** How many runs of a queue have been reviewed, and by whom. */
export interface QueueProgress {
  readonly total: number;
  /** Runs that have as many reviews as the queue requires. */
  readonly completed: number;
  /** Runs that the requesting reviewer has reviewed. */
  readonly mine: number;
  readonly claimedByOthersCount: number;
  /** Id of the queue position that the requesting reviewer completed last. */
  readonly lastReviewedId: string | undefined;
  readonly reviewers: readonly Reviewer[];
}

export interface Queue {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly defaultDatasetId: string | undefined;
  readonly questions: readonly RubricQuestion[];
  readonly reviewersPerRun: number;
  /** Minutes until a claim expires; `undefined` if runs are not claimed in this queue. */
  readonly claimMinutes: number | undefined;
  readonly createdMs: number | undefined;
}

export interface ListedQueue extends Queue {
  readonly progress: QueueProgress;
}

/** One reviewer's state for a run: claimed until a time, done, or neither. */
export interface Review {
  readonly reviewer: string;
  readonly claimedUntilMs: number | undefined;
  readonly doneMs: number | undefined;
}

/** The position of a run in a queue. */
export interface QueuePosition {
  /** Id of the position, not of the run. */
  readonly id: string;
  readonly runId: string;
  readonly isCompleted: boolean;
  readonly addedMs: number | undefined;
  readonly reviews: readonly Review[];
}

/** A run that only one reviewer may review until the claim expires. */
export interface Claim extends QueuePosition {
  /** Number of runs before this run in the queue. */
  readonly index: number;
  /** When the claim expires; `undefined` if there is no claim to renew. */
  readonly untilMs: number | undefined;
}

/** A run in a queue, with the fields that the queue's list of runs shows. */
export interface QueuedRun extends QueuePosition {
  readonly projectId: string;
  readonly name: string;
  readonly runType: string;
  readonly status: "success" | "error" | "pending";
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** @throws TypeError `value` is not an annotation queue. */
export function parseQueue(value: unknown): Queue {
  const queue = toRecord(value);
  const id = toText(queue["id"]);
  if (id === undefined) {
    throw new TypeError("the server's response is not an annotation queue");
  }
  const minutes = toCount(queue["reservation_minutes"]);
  return {
    id,
    name: toText(queue["name"]) ?? "",
    description: toText(queue["description"]) ?? "",
    instructions: toText(queue["rubric_instructions"]) ?? "",
    defaultDatasetId: toText(queue["default_dataset"]),
    questions: toItems(queue["rubric_items"])
      .map(toRecord)
      .flatMap((item) => toRubricQuestion(item) ?? []),
    reviewersPerRun: toCount(queue["num_reviewers_per_item"]),
    claimMinutes: queue["enable_reservations"] === false ? undefined : minutes,
    createdMs: parseTimeMs(queue["created_at"]),
  };
}

/** @throws TypeError `value` is not a list of annotation queues. */
export function parseListedQueues(value: unknown): readonly ListedQueue[] {
  return requireItems(value, "queues")
    .map(toRecord)
    .map((queue) => ({
      ...parseQueue(queue),
      progress: parseProgress(queue["progress"]),
    }));
}

export function parseProgress(value: unknown): QueueProgress {
  const progress = toRecord(value);
  return {
    total: Number(progress["total"] ?? 0),
    completed: Number(progress["completed"] ?? 0),
    mine: Number(progress["mine"] ?? 0),
    claimedByOthersCount: Number(progress["claimed_by_others"] ?? 0),
    lastReviewedId: toText(progress["last_done"]),
    reviewers: toItems(progress["reviewers"])
      .map(toRecord)
      .map(({ name, done, claimed }) => ({
        name: toText(name) ?? "",
        reviewedCount: Number(done ?? 0),
        claimedCount: Number(claimed ?? 0),
      })),
  };
}

/** Parses `{ run }`. Returns `null` if no run is waiting for review. */
export function parseClaim(value: unknown): Claim | null {
  const { run } = toRecord(value);
  if (run === null || run === undefined) {
    return null;
  }
  const fields = toRecord(run);
  return {
    ...parsePosition(fields),
    index: Number(fields["index"] ?? 0),
    untilMs: parseTimeMs(fields["claimed_until"]),
  };
}

export function parseQueuedRuns(value: unknown): readonly QueuedRun[] {
  return requireItems(value, "runs")
    .map(toRecord)
    .map((run) => {
      const endMs = parseTimeMs(run["end_time"]);
      const endedStatus = run["has_error"] === true ? "error" : "success";
      return {
        ...parsePosition(run),
        projectId: toText(run["session_id"]) ?? "",
        name: toText(run["name"]) ?? "",
        runType: toText(run["run_type"]) ?? "",
        status: endMs === undefined ? "pending" : endedStatus,
        startMs: parseTimeMs(run["start_time"]),
        endMs,
      };
    });
}

function parsePosition(fields: Readonly<Record<string, unknown>>): QueuePosition {
  return {
    id: toText(fields["id"]) ?? "",
    runId: toText(fields["run_id"]) ?? "",
    isCompleted: toText(fields["completed_at"]) !== undefined,
    addedMs: parseTimeMs(fields["added_at"]),
    reviews: toItems(fields["reviews"])
      .map(toRecord)
      .map((review) => ({
        reviewer: toText(review["reviewer"]) ?? "",
        claimedUntilMs: parseTimeMs(review["claimed_until"]),
        doneMs: parseTimeMs(review["done_at"]),
      })),
  };
}

const toCount = (value: unknown): number => (typeof value === "number" && value >= 1 ? value : 1);

const uuidPattern = "[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}";
/** Matches the URL of a trace or run page. The run's id is in `run=`; for the root run, it is in `trace=`. */
const runUrlPattern = new RegExp(
  `\\S*[?&](?:trace=${uuidPattern}&)?(?:run|trace)=(${uuidPattern})\\S*`,
  "gi",
);

/** Finds the run ids in a text, bare or in URLs of run pages. Returns each id once, in order. */
export function parseRunIds(text: string): readonly string[] {
  const bareIds = text.replace(runUrlPattern, " $1 ");
  return [
    ...new Set((bareIds.match(new RegExp(uuidPattern, "gi")) ?? []).map((id) => id.toLowerCase())),
  ];
}
