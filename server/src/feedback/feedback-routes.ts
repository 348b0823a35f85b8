import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import {
  checkToken,
  createFeedbackTokens,
  giveFeedback,
  giveFeedbackByLink,
  listFeedbackTokens,
  tokenBody,
} from "./feedback-token-handlers.ts";
import type { TokenBody } from "./feedback-token-handlers.ts";
import {
  createFeedback,
  deleteFeedback,
  listFeedback,
  readFeedback,
  updateFeedback,
} from "./feedback-handlers.ts";
import { route } from "../http/route.ts";
import {
  feedbackBody,
  feedbackPatchBody,
  submittedFeedbackBody,
} from "../runs/ingest/parse-feedback.ts";
import type {
  FeedbackBody,
  FeedbackPatchBody,
  SubmittedFeedbackBody,
} from "../runs/ingest/parse-feedback.ts";
import type { FeedbackStore } from "./feedback-store.ts";
import {
  createdTokensSchema,
  feedbackListSchema,
  feedbackSchema,
  feedbackTokensSchema,
  submittedFeedbackSchema,
} from "./feedback-schemas.ts";
import { Deleted } from "../http/schema-parts.ts";

const apiTag = "feedback";

/** Routes of feedback on runs and projects. */
export function addFeedbackRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route({
    ...route(endpoints.listFeedback, {
      tag: apiTag,
      summary: "Lists feedback, latest first.",
      query: {
        run: "Run ids; may be repeated or joined with commas.",
        session:
          "Project ids, for feedback on the projects and on their runs; may be repeated or joined with commas.",
        key: "Feedback key; may be repeated.",
        source: "Source type, such as api or model; may be repeated.",
        level: "run or session: feedback on runs or on projects.",
        has_score: "true or false: only feedback with or without a score.",
        has_comment: "true or false: only feedback with or without a comment.",
        comparative_experiment_id: "Id of the comparison that it belongs to.",
        min_created_at: "Created at this time or later.",
        max_created_at: "Created at this time or earlier.",
        user: "User ids. Feedback on this server has no user, so the list is then empty.",
        include_user_names: "Has no effect.",
        limit: "Maximum number of items, 1 to 100; default 100.",
        offset: "Number of items to skip.",
      },
      response: feedbackListSchema,
    }),
    handler: (request) => listFeedback(store.forRequest(request), request),
  });
  app.route<{ Body: FeedbackBody }>({
    ...route(endpoints.createFeedback, {
      tag: apiTag,
      summary:
        "Creates feedback. Repeating the request with the same id and content changes nothing.",
      body: feedbackBody,
      response: feedbackSchema,
    }),
    handler: (request) => createFeedback(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.readFeedback, {
      tag: apiTag,
      summary: "Reads feedback.",
      response: feedbackSchema,
    }),
    handler: (request) => readFeedback(store.forRequest(request), request),
  });
  app.route<{ Body: FeedbackPatchBody }>({
    ...route(endpoints.updateFeedback, {
      tag: apiTag,
      summary: "Updates the given fields; null clears a field.",
      body: feedbackPatchBody,
      response: feedbackSchema,
    }),
    handler: (request) => updateFeedback(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.deleteFeedback, {
      tag: apiTag,
      summary: "Deletes feedback.",
      response: Deleted,
    }),
    handler: (request) => deleteFeedback(store.forRequest(request), request),
  });
  app.route<{ Body: TokenBody }>({
    ...route(endpoints.createFeedbackToken, {
      tag: apiTag,
      summary:
        "Creates a URL where anyone can submit feedback on a run until it expires; a list creates several.",
      body: tokenBody,
      response: createdTokensSchema,
    }),
    handler: (request) => createFeedbackTokens(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.listFeedbackTokens, {
      tag: apiTag,
      summary: "Lists the tokens of a run, including expired ones.",
      query: {
        run_id: "Run id.",
        limit: "Maximum number of items; default all.",
        offset: "Number of items to skip.",
      },
      response: feedbackTokensSchema,
    }),
    handler: (request) => listFeedbackTokens(store.forRequest(request), request),
  });
}

/** Adds the routes that need no access key: a token allows its holder to submit feedback. */
export function addSubmittedFeedbackRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route<{ Body: SubmittedFeedbackBody }>({
    ...route(endpoints.giveFeedback, {
      tag: apiTag,
      summary:
        "Submits feedback with a token: at least one of score, value, comment and correction; 410 once the token has expired.",
      body: submittedFeedbackBody,
      isPublic: true,
      response: submittedFeedbackSchema,
    }),
    // Check the token before reading the body, so that nobody without a token can make the server parse a body.
    onRequest: async (request) => checkToken(store.forRequest(request), request),
    handler: (request) => giveFeedback(store.forRequest(request), request),
  });
  app.route({
    ...route(endpoints.giveFeedbackByLink, {
      tag: apiTag,
      summary:
        "Submits feedback with a token by opening a link: at least one of score, value, comment and correction; 410 once the token has expired.",
      query: {
        score: "A number, true or false.",
        value: "A string.",
        comment: "A string.",
        correction: "A string.",
        metadata: "A JSON object.",
      },
      isPublic: true,
      response: submittedFeedbackSchema,
    }),
    // A HEAD request, for example from a link checker, must not submit feedback.
    exposeHeadRoute: false,
    handler: (request, reply) => giveFeedbackByLink(store.forRequest(request), request, reply),
  });
}
