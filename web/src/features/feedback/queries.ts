import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import { parseFeedbackForm, parseFeedbackList, parseTrend } from "./feedback.ts";

const refetchMs = 30_000;
const dayMs = 86_400_000;
const bucketCount = 30;

export interface TrendRequest {
  readonly projectId: string;
  readonly key: string | undefined;
  readonly days: number;
}

/** How a project was judged in the last days. */
export const trendQuery = ({ projectId, key, days }: TrendRequest) =>
  queryOptions({
    queryKey: ["feedback", "trend", projectId, key ?? null, days],
    queryFn: async ({ signal }) => {
      const to = Date.now();
      const query = new URLSearchParams({
        session: projectId,
        from: new Date(to - days * dayMs).toISOString(),
        to: new Date(to).toISOString(),
        buckets: String(bucketCount),
        ...(key === undefined ? {} : { key }),
      });
      return parseTrend(await getJson(`${endpointPath("/ui/feedback")}?${query}`, signal));
    },
    refetchInterval: refetchMs,
  });

/** The latest judgements of a project, at most a hundred. */
export const recentFeedbackQuery = (projectId: string, key: string | undefined) =>
  queryOptions({
    queryKey: ["feedback", "recent", projectId, key ?? null],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({
        session: projectId,
        limit: "100",
        ...(key === undefined ? {} : { key }),
      });
      return parseFeedbackList(await getJson(`${endpointPath("/feedback")}?${query}`, signal));
    },
    refetchInterval: refetchMs,
  });

export const feedbackFormQuery = (token: string) =>
  queryOptions({
    queryKey: ["feedback-form", token],
    queryFn: async ({ signal }) =>
      parseFeedbackForm(
        await getJson(endpointPath("/ui/feedback-forms/:token", { token }), signal),
      ),
    refetchOnWindowFocus: false,
  });

export interface SubmittedFeedback {
  readonly score?: number | boolean;
  readonly value?: string;
  readonly comment?: string;
}

/** Gives feedback by a token. */
export const submitFeedback = async (token: string, draft: SubmittedFeedback): Promise<unknown> =>
  postJson(endpointPath("/feedback/tokens/:token", { token }), draft);
