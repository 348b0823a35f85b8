import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { authorHeader, readAuthor } from "../http/author.ts";
import type { Author } from "../http/author.ts";
import { firstValue, parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { toIso } from "../http/wire-text.ts";
import { RequestError } from "../model/errors.ts";
import { commentLimits, isOwnComment } from "./comment.ts";
import type { Comment, CommentReads, CommentTarget, CommentWrites } from "./comment.ts";

/** The part of the store that the handlers of comments use. */
export interface CommentStore extends RequestScoped<CommentStore> {
  readonly read: { readonly comments: CommentReads };
  readonly write: { readonly comments: CommentWrites };
}

/** A text with at least one character that is not whitespace. */
const textSchema = Type.String({ maxLength: commentLimits.chars, pattern: String.raw`\S` });
const commentBody = Type.Object({
  id: Type.String(),
  run_id: Type.Optional(Type.String()),
  example_id: Type.Optional(Type.String()),
  text: textSchema,
});
const commentPatchBody = Type.Object({ text: textSchema });

const tag = "feedback";

/**
 * Adds the routes of comments, which only the UI uses. Requests name their author in the header {@link authorHeader}.
 */
export function addUiCommentRoutes(app: FastifyInstance, store: CommentStore): void {
  app.route({
    ...route(uiEndpoints.listComments, {
      tag,
      summary: "Lists the comments on a run or an example, the oldest first.",
      query: {
        run: "Id of a run.",
        example: "Id of an example.",
        limit: "Maximum number of items, 1 to 100.",
        offset: "Number of items to skip.",
      },
    }),
    handler: async (request) => {
      const query = request.query as QueryString;
      const author = readAuthor(request);
      const target = parseTarget(
        { runId: firstValue(query, "run"), exampleId: firstValue(query, "example") },
        { runName: "run", exampleName: "example" },
      );
      const { comments, total } = await store
        .forRequest(request)
        .read.comments.list(request.tenantId, target, parsePage(query));
      return {
        comments: comments.map((comment) => toJson(comment, author)),
        total,
        key_name: author.key?.name ?? null,
      };
    },
  });
  app.route({
    ...route(uiEndpoints.countTraceComments, {
      tag,
      summary: "Counts the comments on each run of a trace. Runs without comments are left out.",
    }),
    handler: async (request) => {
      const counts = await store
        .forRequest(request)
        .read.comments.countInTrace(request.tenantId, readId(request));
      return { runs: counts.map(({ runId, count }) => ({ run_id: runId, count })) };
    },
  });
  app.route({
    ...route(uiEndpoints.countDatasetComments, {
      tag,
      summary:
        "Counts the comments on each example of a dataset. Examples without comments are left out.",
    }),
    handler: async (request) => {
      const counts = await store
        .forRequest(request)
        .read.comments.countInDataset(request.tenantId, readId(request));
      return { examples: counts.map(({ exampleId, count }) => ({ example_id: exampleId, count })) };
    },
  });
  app.route<{ Body: Static<typeof commentBody> }>({
    ...route(uiEndpoints.createComment, {
      tag,
      summary: "Creates a comment on a run or an example. Repeating the request changes nothing.",
      body: commentBody,
    }),
    handler: async (request) => {
      const { id, run_id: runId, example_id: exampleId, text } = request.body;
      const author = readKnownAuthor(request);
      const names = { runName: "run_id", exampleName: "example_id" };
      const draft = {
        id: parseId(id, "id"),
        target: parseTarget({ runId, exampleId }, names),
        text,
        author,
      };
      const scoped = store.forRequest(request);
      return toJson(await scoped.write.comments.create(request.tenantId, draft), author);
    },
  });
  app.route<{ Body: Static<typeof commentPatchBody> }>({
    ...route(uiEndpoints.updateComment, {
      tag,
      summary: "Changes the text of a comment. Only its author can.",
      body: commentPatchBody,
    }),
    handler: async (request) => {
      const ownComment = { id: readId(request), author: readAuthor(request) };
      const { text } = request.body;
      const scoped = store.forRequest(request);
      return toJson(
        await scoped.write.comments.update(request.tenantId, ownComment, text),
        ownComment.author,
      );
    },
  });
  app.route({
    ...route(uiEndpoints.deleteComment, {
      tag,
      summary: "Deletes a comment. Only its author can.",
    }),
    handler: async (request) => {
      const ownComment = { id: readId(request), author: readAuthor(request) };
      await store.forRequest(request).write.comments.delete(request.tenantId, ownComment);
      return { id: ownComment.id };
    },
  });
}

/** @throws RequestError 422: the request contains neither a name nor a key that is stored in the database. */
function readKnownAuthor(request: FastifyRequest): Author {
  const author = readAuthor(request);
  if (author.name === null && author.key === null) {
    throw new RequestError(
      422,
      `a comment needs an author: send a name in ${authorHeader}, or an API key that was created on this server`,
    );
  }
  return author;
}

/** @throws RequestError 422: there is not exactly one target, or its id is not a UUID. */
function parseTarget(
  { runId, exampleId }: { readonly runId?: unknown; readonly exampleId?: unknown },
  { runName, exampleName }: { readonly runName: string; readonly exampleName: string },
): CommentTarget {
  if ((runId === undefined) === (exampleId === undefined)) {
    throw new RequestError(422, `pass either ${runName} or ${exampleName}`);
  }
  return runId === undefined
    ? { exampleId: parseId(exampleId, exampleName) }
    : { runId: parseId(runId, runName) };
}

const readId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "id");

const toJson = (comment: Comment, reader: Author) => ({
  id: comment.id,
  run_id: comment.target.runId ?? null,
  example_id: comment.target.exampleId ?? null,
  text: comment.text,
  author: comment.author.name,
  key_name: comment.author.key?.name ?? null,
  is_own: isOwnComment(comment, reader),
  created_at: toIso(comment.createdMicros),
  edited_at: comment.editedMicros === null ? null : toIso(comment.editedMicros),
});
