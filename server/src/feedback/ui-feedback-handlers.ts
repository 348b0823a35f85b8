import type { FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { findMostFrequentKey, toTrend } from "./feedback-trend.ts";
import type { FeedbackStore } from "./feedback-store.ts";
import { toIso } from "../http/wire-text.ts";
import { firstValue, parseCount, parseId, parseRequiredTime } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/**
 * Maximum number of feedback items from which one response is computed. Reading them takes some tens of milliseconds.
 */
const maxPoints = 20_000;
const maxBuckets = 200;

/** `GET /ui/feedback`: statistics of a project's feedback with one key, over time. */
export async function readFeedbackSummary(
  store: FeedbackStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const projectId = parseId(firstValue(query, "session"), "session");
  const fromMicros = parseRequiredTime(query, "from");
  const toMicros = parseRequiredTime(query, "to");
  if (fromMicros >= toMicros) {
    throw new RequestError(422, "from must be before to");
  }
  const bucketCount = parseCount(query, "buckets", { fallback: 48, min: 1, max: maxBuckets });
  const trendQuery = { projectId, fromMicros, toMicros, limit: maxPoints };
  const { points, isComplete } = await store.read.feedbackTrend.read(request.tenantId, trendQuery);
  const key = firstValue(query, "key") ?? findMostFrequentKey(points) ?? "";
  const trend = toTrend(points, { key, fromMicros, toMicros, count: bucketCount });
  return { key, is_complete: isComplete, from: toIso(fromMicros), to: toIso(toMicros), ...trend };
}

/**
 * `GET /ui/feedback-forms/{token}`: returns the form for the holder of the token. It reveals nothing about the run.
 */
export async function readFeedbackForm(
  store: FeedbackStore,
  request: FastifyRequest,
): Promise<unknown> {
  const { token } = request.params as { readonly token: string };
  const storedToken = await store.read.feedback.findToken(token);
  if (storedToken === undefined) {
    throw new RequestError(404, "Feedback token not found");
  }
  const { key, config, expiresMicros } = storedToken;
  return {
    key,
    config,
    expires_at: toIso(expiresMicros),
    is_expired: expiresMicros <= Date.now() * 1_000,
  };
}
