import { Type } from "typebox";
import { defineJobKind } from "../jobs/job-kind.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import { RequestError } from "../model/errors.ts";
import { feedbackKey, toFeedbackDraft } from "../runs/ingest/parse-feedback.ts";
import type { IngestResult, RunBatch } from "../runs/run-record.ts";
import {
  deriveId,
  describeRuns,
  snapshotMatchingRuns,
  matchingRunsSchema,
  readMatchingRuns,
} from "./matching-runs.ts";
import type { MatchingRunStore } from "./matching-runs.ts";

/** The part of the store that the action uses: it reads the matching runs, and stores the feedback. */
export interface FeedbackActionStore extends MatchingRunStore {
  ingest(tenantId: string, batch: RunBatch): Promise<IngestResult>;
}

const runsPerStep = 200;

/** Adds the same feedback to all matching runs. */
export const createAddFeedback = (store: FeedbackActionStore): AnyJobKind =>
  defineJobKind({
    name: "runs.add_feedback",
    parameters: Type.Object({
      runs: matchingRunsSchema,
      key: feedbackKey,
      score: Type.Optional(Type.Number()),
      value: Type.Optional(Type.String({ maxLength: 1_000 })),
      comment: Type.Optional(Type.String({ maxLength: 10_000 })),
      reviewer: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    prepare: async (tenantId, { runs, ...feedback }) => {
      const { score, value, comment } = feedback;
      if (score === undefined && value === undefined && comment === undefined) {
        throw new RequestError(422, "parameters must have score, value or comment");
      }
      const snapshot = await snapshotMatchingRuns(store, tenantId, runs);
      return {
        title: `Add feedback “${feedback.key}” to ${describeRuns(snapshot.total)}`,
        parameters: { ...feedback, runs: snapshot.runs },
        ...(snapshot.total === undefined ? {} : { total: snapshot.total }),
      };
    },
    step: async ({ tenantId, jobId, parameters, progress }, cursor) => {
      const { runs, reviewer, ...judgement } = parameters;
      const limit = runsPerStep;
      const slice = await readMatchingRuns(store, tenantId, { runs, cursor, limit, parts });
      const metadata = reviewer === undefined ? null : { reviewer };
      const feedback = slice.runs.map(({ row }) =>
        toFeedbackDraft({
          ...judgement,
          id: deriveId(jobId, row.id),
          run_id: row.id,
          feedback_source: { type: "app", metadata },
        }),
      );
      // Feedback that an earlier attempt of this step stored has the same ids, so it counts as a duplicate.
      const { rejected } =
        feedback.length === 0
          ? { rejected: [] }
          : await store.ingest(tenantId, {
              records: [],
              attachments: [],
              feedback,
              bodies: new Uint8Array(0),
            });
      const done = progress.done + slice.runs.length;
      return {
        ...(slice.cursor === undefined
          ? { result: { summary: `Added feedback “${judgement.key}”.` } }
          : { cursor: slice.cursor }),
        done,
        failures: rejected.map(({ reason }) => reason),
      };
    },
  });

const parts = new Set(["id"] as const);
