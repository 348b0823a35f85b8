import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../api/http.ts";
import { parseCommentCounts, parseCommentPage, parseExampleCounts } from "./comment.ts";
import type { CommentPage, CommentTarget } from "./comment.ts";

const listPath = toEndpointPath("/ui/comments");
const pageSize = 100;
/** The interval, in milliseconds, at which comments are read again, so that comments by other people appear. */
const refreshMs = 30_000;

/** The part of the query keys that all queries of comments share. */
export const commentsKey = ["comments"] as const;

/**
 * The comments on a run or an example, the oldest first, in pages. The response marks the comments that this person
 * wrote, so the person's name is part of the query key.
 */
export const createCommentsQuery = (target: CommentTarget, personName: string) =>
  infiniteQueryOptions({
    queryKey: [...commentsKey, target.kind, target.id, personName],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        [target.kind]: target.id,
        limit: String(pageSize),
        offset: String(pageParam),
      });
      return parseCommentPage(await getJson(`${listPath}?${query.toString()}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: ({ comments, total }: CommentPage, pages) =>
      comments.length < pageSize || pages.length * pageSize >= total
        ? undefined
        : pages.length * pageSize,
    // Keep the list and the form on the page while a person changes their name.
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });

/** The number of comments on each run of a trace. Runs without comments are left out. */
export const createCommentCountsQuery = (traceId: string) =>
  queryOptions({
    queryKey: [...commentsKey, "trace", traceId],
    queryFn: async ({ signal }) =>
      parseCommentCounts(
        await getJson(toEndpointPath("/ui/traces/:id/comments", { id: traceId }), signal),
      ),
    refetchInterval: refreshMs,
  });

/** The number of comments on each example of a dataset. Examples without comments are left out. */
export const createExampleCountsQuery = (datasetId: string) =>
  queryOptions({
    queryKey: [...commentsKey, "dataset", datasetId],
    queryFn: async ({ signal }) =>
      parseExampleCounts(
        await getJson(toEndpointPath("/ui/datasets/:id/comments", { id: datasetId }), signal),
      ),
    refetchInterval: refreshMs,
  });

/** The caller generates `id`, so that repeating the request does not create a second comment. */
export const createComment = async (
  id: string,
  { kind, id: targetId }: CommentTarget,
  text: string,
): Promise<unknown> => postJson(listPath, { id, [`${kind}_id`]: targetId, text });

export const updateComment = async (id: string, text: string): Promise<unknown> =>
  patchJson(toEndpointPath("/ui/comments/:id", { id }), { text });

export const deleteComment = async (id: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/ui/comments/:id", { id }));
