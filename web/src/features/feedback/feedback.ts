import { parseTimeMs } from "../../components/time/time.ts";

type Json = Readonly<Record<string, unknown>>;

/** One judgement, as a list shows it. */
export interface FeedbackEntry {
  readonly id: string;
  readonly key: string;
  readonly runId: string | undefined;
  readonly traceId: string | undefined;
  readonly projectId: string | undefined;
  /** Score and value, as texts; empty without. */
  readonly scoreText: string;
  readonly comment: string;
  readonly source: string;
  readonly atMs: number;
}

/** How a project was judged under one key. */
export interface FeedbackTrend {
  readonly key: string;
  readonly isComplete: boolean;
  readonly fromMs: number;
  readonly toMs: number;
  readonly keys: readonly {
    readonly key: string;
    readonly n: number;
    readonly mean: number | null;
  }[];
  readonly buckets: readonly {
    readonly n: number;
    readonly mean: number | null;
    readonly p10: number | null;
    readonly p90: number | null;
    readonly values: Readonly<Record<string, number>>;
  }[];
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly n: number }[];
  readonly values: readonly string[];
}

export function parseTrend(value: unknown): FeedbackTrend {
  const trend = value as Json & Pick<FeedbackTrend, "keys" | "buckets" | "histogram" | "values">;
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

/** @throws TypeError the server answered something else. */
export function parseFeedbackList(value: unknown): readonly FeedbackEntry[] {
  if (!Array.isArray(value)) {
    throw new TypeError("the server's answer is no list of feedback");
  }
  return (value as readonly Json[]).map((entry) => ({
    id: String(entry["id"]),
    key: String(entry["key"]),
    runId: textOf(entry["run_id"]),
    traceId: textOf(entry["trace_id"]),
    projectId: textOf(entry["session_id"]),
    scoreText: [entry["score"], entry["value"]].map(showJson).filter(Boolean).join(" · "),
    comment: textOf(entry["comment"]) ?? "",
    source: textOf((entry["feedback_source"] as Json | null)?.["type"]) ?? "",
    atMs: parseTimeMs(entry["created_at"]) ?? 0,
  }));
}

/** A text as it is, anything else as JSON, long ones cut. */
function showJson(value: unknown): string {
  if (value === null || value === undefined) {
    return "";
  }
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 200);
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** What the holder of a token is asked for. */
export interface FeedbackForm {
  readonly key: string;
  readonly isExpired: boolean;
  readonly input:
    | { readonly kind: "score"; readonly min: number | undefined; readonly max: number | undefined }
    | { readonly kind: "choice"; readonly choices: readonly { score: number; label: string }[] }
    | { readonly kind: "text" }
    /** The token does not say: a thumb up or down, or words. */
    | { readonly kind: "thumb" };
}

export function parseFeedbackForm(value: unknown): FeedbackForm {
  const { key, config, is_expired: isExpired } = value as Json;
  if (typeof key !== "string") {
    throw new TypeError("the server's answer is no form");
  }
  return { key, isExpired: isExpired === true, input: parseInput(config) };
}

function parseInput(config: unknown): FeedbackForm["input"] {
  const { type, min, max, categories } = (config ?? {}) as Json;
  switch (type) {
    case "continuous":
      return { kind: "score", min: numberOf(min), max: numberOf(max) };
    case "categorical":
      return {
        kind: "choice",
        choices: (Array.isArray(categories) ? (categories as readonly Json[]) : []).map(
          ({ value, label }) => ({ score: Number(value), label: textOf(label) ?? String(value) }),
        ),
      };
    case "freeform":
      return { kind: "text" };
    default:
      return { kind: "thumb" };
  }
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;
