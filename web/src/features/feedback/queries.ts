import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import { parseFeedbackForm, parseFeedbackList, parseTrend } from "./feedback.ts";

const refetchIntervalMs = 30_000;
const dayMs = 86_400_000;
const bucketCount = 30;

export interface TrendRequest {
  readonly projectId: string;
  /** `undefined` for the most frequent key in the time range. */
  readonly key: string | undefined;
  readonly days: number;
}

/** Statistics of a project's feedback over the last `days` days. */
export const createTrendQuery = ({ projectId, key, days }: TrendRequest) =>
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
      return parseTrend(await getJson(`${toEndpointPath("/ui/feedback")}?${query}`, signal));
    },
    refetchInterval: refetchIntervalMs,
  });

/** A time range, from `fromMs` up to but not including `toMs`. */
export interface FeedbackPeriod {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Maximum number of entries in the list of feedback. */
export const maxRecentEntries = 100;

/** The latest feedback on a project, or its latest feedback in a period; at most {@link maxRecentEntries} entries. */
export const createRecentFeedbackQuery = (
  projectId: string,
  {
    key,
    period,
  }: { readonly key: string | undefined; readonly period: FeedbackPeriod | undefined },
) =>
  queryOptions({
    queryKey: ["feedback", "recent", projectId, key ?? null, period ?? null],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({
        session: projectId,
        limit: String(maxRecentEntries),
        ...(key === undefined ? {} : { key }),
        ...(period === undefined
          ? {}
          : {
              min_created_at: new Date(period.fromMs).toISOString(),
              // The server includes the end.
              max_created_at: new Date(period.toMs - 1).toISOString(),
            }),
      });
      return parseFeedbackList(await getJson(`${toEndpointPath("/feedback")}?${query}`, signal));
    },
    refetchInterval: refetchIntervalMs,
  });

/**
 * The id of the project with the latest feedback; `null` if there is no feedback, or if the server has not received any
 * of the runs to which the 20 latest feedback entries belong.
 */
export const latestFeedbackProjectQuery = queryOptions({
  queryKey: ["feedback", "latest-project"],
  queryFn: async ({ signal }): Promise<string | null> => {
    const latest = parseFeedbackList(
      await getJson(`${toEndpointPath("/feedback")}?limit=20`, signal),
    );
    return latest.find(({ projectId }) => projectId !== undefined)?.projectId ?? null;
  },
});

export const createFeedbackFormQuery = (token: string) =>
  queryOptions({
    queryKey: ["feedback-form", token],
    queryFn: async ({ signal }) =>
      parseFeedbackForm(
        await getJson(toEndpointPath("/ui/feedback-forms/:token", { token }), signal),
      ),
    refetchOnWindowFocus: false,
  });

/** The feedback that a user submits with a feedback form. */
export interface SubmittedFeedback {
  readonly score?: number | boolean;
  readonly value?: string;
  readonly comment?: string;
}

/** Submits feedback with the token of a feedback link. */
export const submitFeedback = async (token: string, draft: SubmittedFeedback): Promise<unknown> =>
  postJson(toEndpointPath("/feedback/tokens/:token", { token }), draft);
