import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { readFeedbackForm, readFeedbackSummary } from "./ui-feedback-handlers.ts";
import { route } from "../http/route.ts";
import type { FeedbackStore } from "./feedback-store.ts";

const tag = "feedback";

/** What the page of feedback asks. */
export function addUiFeedbackRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route({
    ...route(uiEndpoints.readFeedbackSummary, { tag, summary: "Feedback over time." }),
    handler: (request) => readFeedbackSummary(store, request),
  });
}

/** What needs no key: the form behind a token. */
export function addUiFeedbackFormRoutes(app: FastifyInstance, store: FeedbackStore): void {
  app.route({
    ...route(uiEndpoints.readFeedbackForm, {
      tag,
      summary: "What a token asks.",
      keyless: true,
    }),
    handler: (request) => readFeedbackForm(store, request),
  });
}
