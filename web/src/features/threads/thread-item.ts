import {
  parseChoice,
  requireItems,
  requireText,
  toNumber,
  toRecord,
  toText,
} from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { parseFeedbackSummary } from "../runs/feedback-summary.tsx";
import type { FeedbackSummary } from "../runs/feedback-summary.tsx";

export interface ThreadItem {
  readonly id: string;
  readonly turnCount: number;
  /** Whether the thread has more turns than were counted. */
  readonly isTruncated: boolean;
  readonly errorCount: number;
  readonly lastStartMs: number;
  readonly tokens: number | undefined;
  /** In US dollars; `undefined` if it is unknown. */
  readonly cost: number | undefined;
  readonly lastMessage: LastMessage | undefined;
  readonly feedback: FeedbackScores;
}

/** The beginning of the last message of a thread. */
export interface LastMessage {
  readonly source: "inputs" | "outputs" | "error";
  readonly text: string;
}

/** The feedback on a turn or a thread, by key. */
export type FeedbackScores = Readonly<Record<string, FeedbackSummary>>;

export interface ThreadItemPage {
  readonly items: readonly ThreadItem[];
  readonly next: string | undefined;
  /** Whether some runs could not be searched, so that threads may be missing. */
  readonly isPartial: boolean;
}

export interface TurnItem {
  readonly runId: string;
  readonly traceId: string;
  readonly name: string;
  readonly status: "success" | "error" | "pending";
  readonly startMs: number;
  readonly endMs: number | undefined;
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
  readonly feedback: FeedbackScores;
}

export interface TurnItemPage {
  readonly turns: readonly TurnItem[];
  readonly turnCount: number;
  /** Whether the thread has older turns that the server does not return. */
  readonly isTruncated: boolean;
}

/** @throws TypeError the response is not a page of threads. */
export function parseThreadPage(value: unknown): ThreadItemPage {
  const { threads, cursors, is_partial: isPartial } = toRecord(value);
  return {
    items: requireItems(threads, "threads").map(parseThread),
    next: toText(toRecord(cursors)["next"]),
    isPartial: isPartial === true,
  };
}

function parseThread(value: unknown): ThreadItem {
  const thread = toRecord(value);
  const { source, text } = toRecord(thread["last_message"]);
  const messageText = toText(text);
  return {
    id: requireText(thread, "id"),
    turnCount: toNumber(thread["turn_count"]) ?? 0,
    isTruncated: thread["is_truncated"] === true,
    errorCount: toNumber(thread["error_count"]) ?? 0,
    lastStartMs: requireTime(thread, "last_start_time"),
    ...parseUsage(thread),
    lastMessage:
      messageText === undefined
        ? undefined
        : {
            source: parseChoice(source, ["inputs", "outputs", "error"] as const) ?? "outputs",
            text: messageText,
          },
    feedback: parseFeedback(thread["feedback_stats"]),
  };
}

/** @throws TypeError the response is not a page of turns. */
export function parseTurnPage(value: unknown): TurnItemPage {
  const { turns, turn_count: turnCount, is_truncated: isTruncated } = toRecord(value);
  return {
    turns: requireItems(turns, "turns").map(parseTurn),
    turnCount: toNumber(turnCount) ?? 0,
    isTruncated: isTruncated === true,
  };
}

function parseTurn(value: unknown): TurnItem {
  const turn = toRecord(value);
  return {
    runId: requireText(turn, "run_id"),
    traceId: requireText(turn, "trace_id"),
    name: toText(turn["name"]) ?? "",
    status: parseChoice(turn["status"], ["success", "error"] as const) ?? "pending",
    startMs: requireTime(turn, "start_time"),
    endMs: parseTimeMs(turn["end_time"]),
    ...parseUsage(turn),
    feedback: parseFeedback(turn["feedback_stats"]),
  };
}

function parseUsage(members: Readonly<Record<string, unknown>>): {
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
} {
  const cost = Number(members["total_cost"] ?? Number.NaN);
  return {
    tokens: toNumber(members["total_tokens"]),
    cost: Number.isFinite(cost) ? cost : undefined,
  };
}

const parseFeedback = (value: unknown): FeedbackScores =>
  Object.fromEntries(
    Object.entries(toRecord(value)).map(([key, stats]) => [key, parseFeedbackSummary(stats)]),
  );

function requireTime(members: Readonly<Record<string, unknown>>, name: string): number {
  const timeMs = parseTimeMs(members[name]);
  if (timeMs === undefined) {
    throw new TypeError(`The response contains no time "${name}".`);
  }
  return timeMs;
}
