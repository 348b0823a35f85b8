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

const tag = "feedback";

/** Judgements on runs and projects. */
export function addFeedbackRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route({
    ...route(endpoints.listFeedback, {
      tag,
      summary: "Feedback, the latest first.",
      query: {
        run: "Ids of runs; may be repeated, or joined by commas.",
        session: "Ids of projects, judged themselves or by their runs; as run.",
        key: "Keys; may be repeated.",
        source: "Types of sources, such as api or model; may be repeated.",
        level: "run or session: what was judged.",
        has_score: "Whether there is a score: true or false.",
        has_comment: "Whether there is a comment: true or false.",
        comparative_experiment_id: "The comparison that it is part of.",
        min_created_at: "Given at this time or after.",
        max_created_at: "Given at this time or before.",
        user: "Ids of users. Nothing here is a user's: with it the list is empty.",
        include_user_names: "Has no effect.",
        limit: "At most so many, from 1 to 100; 100 where it is left out.",
        offset: "So many are skipped.",
      },
    }),
    handler: (request) => listFeedback(store, request),
  });
  app.route<{ Body: FeedbackBody }>({
    ...route(endpoints.createFeedback, {
      tag,
      summary: "Records feedback; repeated with the same id and content, it changes nothing.",
      body: feedbackBody,
    }),
    handler: (request) => createFeedback(store, request),
  });
  app.route({
    ...route(endpoints.readFeedback, { tag, summary: "One feedback." }),
    handler: (request) => readFeedback(store, request),
  });
  app.route<{ Body: FeedbackPatchBody }>({
    ...route(endpoints.updateFeedback, {
      tag,
      summary: "Changes what is given; null takes away.",
      body: feedbackPatchBody,
    }),
    handler: (request) => updateFeedback(store, request),
  });
  app.route({
    ...route(endpoints.deleteFeedback, { tag, summary: "Deletes feedback." }),
    handler: (request) => deleteFeedback(store, request),
  });
  app.route<{ Body: TokenBody }>({
    ...route(endpoints.createFeedbackToken, {
      tag,
      summary:
        "Makes an address where anyone may give feedback on a run until it expires; a list makes several.",
      body: tokenBody,
    }),
    handler: (request) => createFeedbackTokens(store, request),
  });
  app.route({
    ...route(endpoints.listFeedbackTokens, {
      tag,
      summary: "The tokens of a run, expired ones too.",
      query: {
        run_id: "The run.",
        limit: "At most so many; all of them where it is left out.",
        offset: "So many are skipped.",
      },
    }),
    handler: (request) => listFeedbackTokens(store, request),
  });
}

/** Routes without a key: a token allows its holder to submit feedback. */
export function addSubmittedFeedbackRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route<{ Body: SubmittedFeedbackBody }>({
    ...route(endpoints.giveFeedback, {
      tag,
      summary: "Records feedback by a token; 410 once it has expired.",
      body: submittedFeedbackBody,
      keyless: true,
    }),
    // Before a body is read: without a token nobody is to make the server parse anything.
    onRequest: async (request) => checkToken(store, request),
    handler: (request) => giveFeedback(store, request),
  });
  app.route({
    ...route(endpoints.giveFeedbackByLink, {
      tag,
      summary: "Records feedback by a token, from a link; 410 once it has expired.",
      query: {
        score: "A number, true or false.",
        value: "A text.",
        comment: "A text.",
        correction: "A text.",
        metadata: "A JSON object.",
      },
      keyless: true,
    }),
    // Who only looks whether the link is there has judged nothing.
    exposeHeadRoute: false,
    handler: (request) => giveFeedbackByLink(store, request),
  });
}
