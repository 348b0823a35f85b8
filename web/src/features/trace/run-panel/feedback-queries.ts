import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../../api/http.ts";
import { parseTimeMs } from "../../../components/time/time.ts";
import { createAppSource, describeSource, readReviewer } from "../../../api/feedback-source.ts";

const listPath = toEndpointPath("/feedback");
const creationPath = toEndpointPath("/feedback");

export interface RunFeedback {
  readonly id: string;
  readonly key: string;
  readonly score: number | boolean | undefined;
  readonly value: unknown;
  readonly comment: string | undefined;
  /** The type of the source, such as `app`. */
  readonly source: string | undefined;
  /** The name of the person who gave the feedback in the UI, as this person has entered it. */
  readonly reviewer: string | undefined;
  /** The person who gave the feedback, or the type of its source. */
  readonly author: string;
  readonly createdMs: number | undefined;
}

/** Feedback on a run, as a person enters it in the UI. */
export interface FeedbackDraft {
  readonly key: string;
  readonly score: number | boolean | undefined;
  /** Any JSON value. */
  readonly value: unknown;
  readonly comment: string | undefined;
}

const toFeedbackQueryKey = (runId: string) => ["run-feedback", runId] as const;

export const createRunFeedbackQuery = (runId: string) =>
  queryOptions({
    queryKey: toFeedbackQueryKey(runId),
    queryFn: async ({ signal }) => {
      const list = await getJson(`${listPath}?run=${encodeURIComponent(runId)}`, signal);
      return Array.isArray(list) ? list.map(parseFeedback) : [];
    },
  });

export async function createFeedback(runId: string, draft: FeedbackDraft): Promise<void> {
  await postJson(creationPath, {
    id: crypto.randomUUID(),
    run_id: runId,
    ...toBody(draft),
    feedback_source: createAppSource(),
  });
}

export async function updateFeedback(id: string, draft: FeedbackDraft): Promise<void> {
  const { key: _immutableKey, ...changes } = toBody(draft);
  await patchJson(toFeedbackPath(id), changes);
}

export async function deleteFeedback(id: string): Promise<void> {
  await deleteJson(toFeedbackPath(id));
}

const toFeedbackPath = (id: string): string => toEndpointPath("/feedback/:id", { id });

/** Converts a draft to the request body, in which `null` clears a field. */
const toBody = ({ key, score, value, comment }: FeedbackDraft) => ({
  key,
  score: score ?? null,
  value: value ?? null,
  comment: comment ?? null,
});

function parseFeedback(item: unknown): RunFeedback {
  const {
    id,
    key,
    score,
    value,
    comment,
    feedback_source: source,
    created_at: createdAt,
  } = item as Readonly<Record<string, unknown>>;
  const { type } = (source ?? {}) as Readonly<Record<string, unknown>>;
  return {
    id: String(id),
    key: String(key),
    score: typeof score === "number" || typeof score === "boolean" ? score : undefined,
    value: value ?? undefined,
    comment: typeof comment === "string" ? comment : undefined,
    source: typeof type === "string" ? type : undefined,
    reviewer: readReviewer(source),
    author: describeSource(source),
    createdMs: parseTimeMs(createdAt),
  };
}
