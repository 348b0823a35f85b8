import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { ApiError, deleteJson, getJson, patchJson, postJson } from "../../../api/http.ts";
import { toItems, toRecord, toText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import type { ReviewSession } from "../queries.ts";
import { restoreDraft } from "./review-draft.ts";
import type { FeedbackWrite } from "./review-draft.ts";

const feedbackPath = toEndpointPath("/feedback");
const examplesPath = toEndpointPath("/examples");
const datasetsPath = toEndpointPath("/datasets");

/** The feedback that a reviewer has already submitted for a run, restored as a draft. */
export const createSubmittedReviewQuery = (runId: string, session: ReviewSession) =>
  queryOptions({
    queryKey: ["run", runId, "review", session.queueId, session.reviewer],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ run: runId, source: "app", limit: "100" });
      const feedback = await getJson(`${feedbackPath}?${query.toString()}`, signal);
      return restoreDraft(feedback, session);
    },
    staleTime: Infinity,
    gcTime: 0,
  });

/**
 * Sends the feedback of a review. The call can be repeated after a failure: feedback that the server already has is
 * recognized by its id, and is not created twice.
 *
 * @throws {@link ApiError} a request failed; the feedback sent before it stays.
 */
export async function sendFeedback(
  writes: readonly FeedbackWrite[],
  { runId, session }: { readonly runId: string; readonly session: ReviewSession },
): Promise<void> {
  for (const write of writes) {
    // Send one request at a time, so that nothing is sent after a failed request.
    await sendWrite(write, { runId, session });
  }
}

async function sendWrite(
  { id, key, body, isSent }: FeedbackWrite,
  { runId, session }: { readonly runId: string; readonly session: ReviewSession },
): Promise<void> {
  const path = `${feedbackPath}/${encodeURIComponent(id)}`;
  if (body === undefined) {
    await tryWithFallback(
      404,
      () => deleteJson(path),
      () => undefined,
    );
    return;
  }
  const metadata = { reviewer: session.reviewer, annotation_queue_id: session.queueId };
  const feedback = { id, key, run_id: runId, feedback_source: { type: "app", metadata }, ...body };
  const create = async () => postJson(feedbackPath, feedback);
  const update = async () => patchJson(path, body);
  // If the response to an earlier request was lost, the server may already have feedback with this id.
  await (isSent ? tryWithFallback(404, update, create) : tryWithFallback(409, create, update));
}

/** Calls `request`; if it fails with the given HTTP status, calls `fallback` instead. */
async function tryWithFallback(
  status: number,
  request: () => Promise<unknown>,
  fallback: () => unknown,
): Promise<void> {
  try {
    await request();
  } catch (cause) {
    if (!(cause instanceof ApiError) || cause.status !== status) {
      throw cause;
    }
    await fallback();
  }
}

/** Creates an example from a run. The caller generates `id`, so that repeating the request creates only one. */
export const addExample = async (example: {
  readonly id: string;
  readonly datasetId: string;
  readonly runId: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
}): Promise<unknown> =>
  postJson(examplesPath, {
    id: example.id,
    dataset_id: example.datasetId,
    source_run_id: example.runId,
    inputs: toObject(example.inputs, "input"),
    outputs: toObject(example.outputs, "output"),
  });

/** Returns an object unchanged, and wraps any other value in an object, because examples contain only objects. */
const toObject = (value: unknown, name: string): JsonMembers =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? toRecord(value)
    : { [name]: value };

export interface NamedDataset {
  readonly id: string;
  readonly name: string;
}

/** At most 100 datasets to choose from: first those with the latest experiments, then those created last. */
export const datasetNamesQuery = queryOptions({
  queryKey: ["datasets", "names"],
  queryFn: async ({ signal }): Promise<readonly NamedDataset[]> =>
    toItems(await getJson(`${datasetsPath}?limit=100`, signal))
      .map(toRecord)
      .map(({ id, name }) => ({ id: toText(id) ?? "", name: toText(name) ?? "" })),
});
