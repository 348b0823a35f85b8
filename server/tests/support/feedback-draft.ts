import { randomUUID } from "node:crypto";
import type { FeedbackDraft } from "../../src/runs/run-feedback.ts";

/** Feedback with the key `k` on an unknown run, without a score, unless other members are given. */
export const createFeedbackDraft = (members: Partial<FeedbackDraft> = {}): FeedbackDraft => ({
  id: randomUUID(),
  runId: randomUUID(),
  projectId: null,
  comparativeId: null,
  key: "k",
  score: null,
  value: null,
  comment: null,
  correction: null,
  config: null,
  sourceType: "api",
  sourceMetadata: null,
  extra: null,
  createdMicros: null,
  ...members,
});
