import type { FeedbackDraft } from "../server/src/runs/run-feedback.ts";
import { createFeedbackDraft } from "../server/tests/support/feedback-draft.ts";

// The content that `fill-sqlite` and `fill-postgres` write: small runs of the project "bench", spread evenly over a
// number of days up to now. Each property has some common values and one rare value.

export const fillProjectName = "bench";

/** Runs of each trace. The first one is its root, and the others begin 20 ms after each other. */
export const runsPerTrace = 10;
export const childDelayMicros = 20_000;

/** Names and types of runs, by the number of their kind. The root has the kind `rootKind`. */
export const names = ["answer", "ask", "retrieve", "rank", "summarise", "plan", "search", "mail"];
export const types = ["chain", "llm", "retriever", "tool", "llm", "prompt", "tool", "tool"];
export const rootKind = 1;

/** Each text has twelve of these words. */
export const words = "order refund parcel delay invoice address customer account".split(" ");
export const wordsPerText = 12;
/** A word that few runs contain. */
export const rareWord = "needle";

export const userCount = 1_000;
export const modelCount = 5;
/** Traces of each thread, which follow each other. */
export const tracesPerThread = 4;
/** One in this many traces has feedback, on its root. */
export const tracesPerFeedback = 20;
export const feedbackKey = "helpful";

/** Latencies are spread evenly over this time; those of a few runs are longer by this factor. */
export const latencyMicros = 5_000_000;
export const slowFactor = 20;

/**
 * How to select the runs with a rare property: that failed, are slow, have not ended, or have a rare name, tag, model
 * or word. A run has the property if its number modulo the first value equals the second value.
 */
export const rare = {
  failed: [100, 0],
  slow: [50_000, 11],
  pending: [50_000, 13],
  name: [33_333, 5],
  tag: [50_000, 17],
  model: [50_000, 19],
  word: [100_000, 7],
} as const;

export const rareName = "rare step";
export const rareTag = "canary";
export const rareModel = "model-rare";

/** Feedback on a root. */
export const createFeedback = (runId: string, number: number): FeedbackDraft =>
  createFeedbackDraft({ runId, key: feedbackKey, score: (number % 100) / 100 });
