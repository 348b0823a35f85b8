import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { readFeedbackForm, readFeedbackSummary } from "./ui-feedback-handlers.ts";
import { route } from "../http/route.ts";
import type { FeedbackStore } from "./feedback-store.ts";

const apiTag = "feedback";

/** Feedback routes that only the UI uses. */
export function addUiFeedbackRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route({
    ...route(uiEndpoints.readFeedbackSummary, {
      tag: apiTag,
      summary: "Reads statistics of feedback over time.",
    }),
    handler: (request) => readFeedbackSummary(store.forRequest(request), request),
  });
}

/** Adds the route of the feedback form, which needs a token but no API key. */
export function addUiFeedbackFormRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route({
    ...route(uiEndpoints.readFeedbackForm, {
      tag: apiTag,
      summary: "Reads the feedback form of a token.",
      isPublic: true,
    }),
    handler: (request) => readFeedbackForm(store.forRequest(request), request),
  });
}
