import { requireItems, toItems, toRecord, toText } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { toScoreInput } from "./rubric.ts";
import type { ScoreInput } from "./rubric.ts";

/** One who reviews a queue, or did. */
export interface Reviewer {
  readonly name: string;
  readonly done: number;
  /** Runs that they have claimed now. */
  readonly claimed: number;
}

/** How far a queue is. */
export interface QueueProgress {
  readonly total: number;
  readonly completed: number;
  /** Runs that the one who asks is done with. */
  readonly mine: number;
  readonly claimedByOthers: number;
  /** The place that they were done with last. */
  readonly lastDone: string | undefined;
  readonly reviewers: readonly Reviewer[];
}

/** An annotation queue. */
export interface Queue {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly defaultDatasetId: string | undefined;
  readonly inputs: readonly ScoreInput[];
  readonly reviewersPerRun: number;
  /** `undefined`: runs are not claimed. */
  readonly claimMinutes: number | undefined;
  readonly createdMs: number | undefined;
}

export interface ListedQueue extends Queue {
  readonly progress: QueueProgress;
}

/** One reviewer's part in a run. */
export interface Review {
  readonly reviewer: string;
  readonly claimedUntilMs: number | undefined;
  readonly doneMs: number | undefined;
}

/** A run's place in a queue. */
export interface QueuePosition {
  readonly id: string;
  readonly runId: string;
  readonly isCompleted: boolean;
  readonly addedMs: number | undefined;
  readonly reviews: readonly Review[];
}

/** A run that is a reviewer's for the time being. */
export interface Claim extends QueuePosition {
  /** How many stand before it. */
  readonly index: number;
  /** `undefined`: there is no claim to renew. */
  readonly untilMs: number | undefined;
}

/** A run in a queue, as a list shows it. */
export interface QueuedRun extends QueuePosition {
  readonly name: string;
  readonly runType: string;
  readonly status: "success" | "error" | "pending";
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** @throws TypeError the server answered something else. */
export function parseQueue(value: unknown): Queue {
  const queue = toRecord(value);
  const id = toText(queue["id"]);
  if (id === undefined) {
    throw new TypeError("the server's answer is no annotation queue");
  }
  const minutes = toCount(queue["reservation_minutes"]);
  return {
    id,
    name: toText(queue["name"]) ?? "",
    description: toText(queue["description"]) ?? "",
    instructions: toText(queue["rubric_instructions"]) ?? "",
    defaultDatasetId: toText(queue["default_dataset"]),
    inputs: toItems(queue["rubric_items"])
      .map(toRecord)
      .flatMap((item) => toScoreInput(item) ?? []),
    reviewersPerRun: toCount(queue["num_reviewers_per_item"]),
    claimMinutes: queue["enable_reservations"] === false ? undefined : minutes,
    createdMs: parseTimeMs(queue["created_at"]),
  };
}

/** @throws TypeError the server answered something else. */
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
    claimedByOthers: Number(progress["claimed_by_others"] ?? 0),
    lastDone: toText(progress["last_done"]),
    reviewers: toItems(progress["reviewers"])
      .map(toRecord)
      .map(({ name, done, claimed }) => ({
        name: toText(name) ?? "",
        done: Number(done ?? 0),
        claimed: Number(claimed ?? 0),
      })),
  };
}

/** The run of `{ run }`; `null`: none waits. */
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
      const ended = run["has_error"] === true ? "error" : "success";
      return {
        ...parsePosition(run),
        name: toText(run["name"]) ?? "",
        runType: toText(run["run_type"]) ?? "",
        status: endMs === undefined ? "pending" : ended,
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

const uuid = "[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}";
/** The address of a run's page names its project and trace too: the run is what `run=` names, else the trace. */
const address = new RegExp(`\\S*[?&](?:trace=${uuid}&)?(?:run|trace)=(${uuid})\\S*`, "gi");

/** The ids of runs in a text: alone, or in addresses of their pages. Each once, in order. */
export function parseRunIds(text: string): readonly string[] {
  const alone = text.replace(address, " $1 ");
  return [...new Set((alone.match(new RegExp(uuid, "gi")) ?? []).map((id) => id.toLowerCase()))];
}
