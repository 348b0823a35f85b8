import { parseTimeMs } from "../../components/time/time.ts";
import { describeSource } from "../../api/feedback-source.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface FeedbackEntry {
  readonly id: string;
  readonly key: string;
  readonly runId: string | undefined;
  readonly traceId: string | undefined;
  readonly projectId: string | undefined;
  /** The score and the value, as one text; empty if the feedback has neither. */
  readonly scoreText: string;
  readonly comment: string;
  /** The person who gave the feedback, or the type of the source, such as `api` or `app`. */
  readonly source: string;
  readonly atMs: number;
}

/** The feedback on a project over time, for one key. */
export interface FeedbackTrend {
  readonly key: string;
  /** Whether the server read all feedback in the time range. It reads only a limited number of entries. */
  readonly isComplete: boolean;
  readonly fromMs: number;
  readonly toMs: number;
  /** The keys of the project's feedback in the time range, each with its number `n` of entries and their mean score. */
  readonly keys: readonly {
    readonly key: string;
    readonly n: number;
    readonly mean: number | null;
  }[];
  /** Statistics for time intervals of equal length from `fromMs` to `toMs`. */
  readonly buckets: readonly {
    readonly n: number;
    readonly mean: number | null;
    readonly p10: number | null;
    readonly p90: number | null;
    /** How often each value of `FeedbackTrend.values` occurs in the bucket. */
    readonly values: Readonly<Record<string, number>>;
  }[];
  /** The score distribution: number of scores in each of several equal steps from the lowest to the highest score. */
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly n: number }[];
  /** The most frequent values in the feedback with this key. */
  readonly values: readonly string[];
}

export function parseTrend(value: unknown): FeedbackTrend {
  const trend = value as JsonObject &
    Pick<FeedbackTrend, "keys" | "buckets" | "histogram" | "values">;
  return {
    key: String(trend["key"]),
    isComplete: trend["is_complete"] === true,
    fromMs: parseTimeMs(trend["from"]) ?? 0,
    toMs: parseTimeMs(trend["to"]) ?? 0,
    keys: trend.keys,
    buckets: trend.buckets,
    histogram: trend.histogram,
    values: trend.values,
  };
}

/** @throws TypeError `value` is not a list. */
export function parseFeedbackList(value: unknown): readonly FeedbackEntry[] {
  if (!Array.isArray(value)) {
    throw new TypeError("the server's response is not a list of feedback");
  }
  return (value as readonly JsonObject[]).map((entry) => ({
    id: String(entry["id"]),
    key: String(entry["key"]),
    runId: toText(entry["run_id"]),
    traceId: toText(entry["trace_id"]),
    projectId: toText(entry["session_id"]),
    scoreText: [entry["score"], entry["value"]].map(formatValue).filter(Boolean).join(" · "),
    comment: toText(entry["comment"]) ?? "",
    source: describeSource(entry["feedback_source"]),
    atMs: parseTimeMs(entry["created_at"]) ?? 0,
  }));
}

/** Formats a value: a string unchanged, and any other value as JSON. The result is cut off after 200 characters. */
function formatValue(value: unknown): string {
  if (value === null || value === undefined) {
    return "";
  }
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 200);
}

const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

export interface FeedbackForm {
  /** Key of the feedback that the form creates. */
  readonly key: string;
  readonly isExpired: boolean;
  readonly input:
    | { readonly kind: "score"; readonly min: number | undefined; readonly max: number | undefined }
    | { readonly kind: "choice"; readonly choices: readonly { score: number; label: string }[] }
    | { readonly kind: "text" }
    /** The feedback link does not define an input, so the user chooses between good and bad. */
    | { readonly kind: "thumb" };
}

export function parseFeedbackForm(value: unknown): FeedbackForm {
  const { key, config, is_expired: isExpired } = value as JsonObject;
  if (typeof key !== "string") {
    throw new TypeError("the server's response is not a feedback form");
  }
  return { key, isExpired: isExpired === true, input: parseInput(config) };
}

function parseInput(config: unknown): FeedbackForm["input"] {
  const { type, min, max, categories } = (config ?? {}) as JsonObject;
  switch (type) {
    case "continuous":
      return { kind: "score", min: toNumber(min), max: toNumber(max) };
    case "categorical":
      return {
        kind: "choice",
        choices: (Array.isArray(categories) ? (categories as readonly JsonObject[]) : []).map(
          ({ value, label }) => ({ score: Number(value), label: toText(label) ?? String(value) }),
        ),
      };
    case "freeform":
      return { kind: "text" };
    default:
      return { kind: "thumb" };
  }
}

const toNumber = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;
