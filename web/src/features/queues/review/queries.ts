import { queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../../api/endpoint-path.ts";
import { ApiError, deleteJson, getJson, patchJson, postJson } from "../../../api/http.ts";
import { toItems, toRecord, toText } from "../../../api/parse.ts";
import type { Members } from "../../../api/parse.ts";
import type { ReviewSession } from "../queries.ts";
import { draftOfFeedback } from "./review-draft.ts";
import type { FeedbackWrite } from "./review-draft.ts";

const feedbackPath = endpointPath("/feedback");
const examplesPath = endpointPath("/examples");
const datasetsPath = endpointPath("/datasets");

/** What a reviewer said of a run before, as the draft that leads to it. */
export const submittedReviewQuery = (runId: string, session: ReviewSession) =>
  queryOptions({
    queryKey: ["run", runId, "review", session.queueId, session.reviewer],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ run: runId, source: "app", limit: "100" });
      const answer = await getJson(`${feedbackPath}?${query.toString()}`, signal);
      return draftOfFeedback(answer, session);
    },
    staleTime: Infinity,
    gcTime: 0,
  });

/**
 * Writes the feedback of a review, one after the other. Repeated, it leads to the same: each has an id of its own.
 *
 * @throws {@link ApiError} what was written before the fault stays.
 */
export async function sendFeedback(
  writes: readonly FeedbackWrite[],
  { runId, session }: { readonly runId: string; readonly session: ReviewSession },
): Promise<void> {
  for (const write of writes) {
    // One after the other: what fails is the last that was tried.
    await sendOne(write, { runId, session });
  }
}

async function sendOne(
  { id, key, body, isSent }: FeedbackWrite,
  { runId, session }: { readonly runId: string; readonly session: ReviewSession },
): Promise<void> {
  const path = `${feedbackPath}/${encodeURIComponent(id)}`;
  if (body === undefined) {
    await orElse(
      404,
      () => deleteJson(path),
      () => undefined,
    );
    return;
  }
  const metadata = { reviewer: session.reviewer, annotation_queue_id: session.queueId };
  const whole = { id, key, run_id: runId, feedback_source: { type: "app", metadata }, ...body };
  const create = async () => postJson(feedbackPath, whole);
  const update = async () => patchJson(path, body);
  // Sent before and changed since, without an answer: the id is there, with other content.
  await (isSent ? orElse(404, update, create) : orElse(409, create, update));
}

async function orElse(
  status: number,
  first: () => Promise<unknown>,
  second: () => unknown,
): Promise<void> {
  try {
    await first();
  } catch (cause) {
    if (!(cause instanceof ApiError) || cause.status !== status) {
      throw cause;
    }
    await second();
  }
}

/** A run as an example of a dataset. `id` is made before: what is sent again is made once. */
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
    inputs: asObject(example.inputs, "input"),
    outputs: asObject(example.outputs, "output"),
  });

/** Examples hold objects. */
const asObject = (value: unknown, name: string): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? toRecord(value)
    : { [name]: value };

export interface NamedDataset {
  readonly id: string;
  readonly name: string;
}

/** Datasets to choose from: the hundred that were changed last. */
export const datasetNamesQuery = queryOptions({
  queryKey: ["datasets", "names"],
  queryFn: async ({ signal }): Promise<readonly NamedDataset[]> =>
    toItems(await getJson(`${datasetsPath}?limit=100`, signal))
      .map(toRecord)
      .map(({ id, name }) => ({ id: toText(id) ?? "", name: toText(name) ?? "" })),
});
