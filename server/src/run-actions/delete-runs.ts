import { Type } from "typebox";
import { defineJobKind } from "../jobs/job-kind.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import type { RunWrites } from "../runs/run-query.ts";
import type { Promised } from "../storage/promised.ts";
import {
  describeRuns,
  snapshotMatchingRuns,
  matchingRunsSchema,
  readMatchingRuns,
} from "./matching-runs.ts";
import type { MatchingRunStore } from "./matching-runs.ts";

/** The part of the store that deletes runs. */
export interface DeletionStore extends MatchingRunStore {
  readonly write: Promised<{ readonly runs: RunWrites }>;
}

const runsPerStep = 50;
/** Milliseconds after which a step ends. The next step deletes the runs that are left. */
const stepMs = 500;

/** Deletes all matching runs, with the runs below them and everything that belongs to them. */
export const createDeleteRuns = (store: DeletionStore): AnyJobKind =>
  defineJobKind({
    name: "runs.delete",
    parameters: Type.Object({ runs: matchingRunsSchema }),
    prepare: async (tenantId, { runs }) => {
      const snapshot = await snapshotMatchingRuns(store, tenantId, runs);
      return {
        title: `Delete ${describeRuns(snapshot.total)}`,
        parameters: { runs: snapshot.runs },
        ...(snapshot.total === undefined ? {} : { total: snapshot.total }),
      };
    },
    step: async ({ tenantId, parameters: { runs }, progress }, cursor) => {
      const limit = runsPerStep;
      const slice = await readMatchingRuns(store, tenantId, { runs, cursor, limit, parts });
      const deadlineMs = performance.now() + stepMs;
      let remainingIds = slice.runs.map(({ row }) => row.id);
      let deletedCount = progress.figures["runs_deleted"] ?? 0;
      while (remainingIds.length > 0 && performance.now() < deadlineMs) {
        // Await each call, so that other writes can run between two calls.
        const deletion = await store.write.runs.deleteTrees(tenantId, remainingIds);
        remainingIds = [...deletion.remainingIds];
        deletedCount += deletion.deleted;
      }
      const done = progress.done + slice.runs.length - remainingIds.length;
      const figures = { runs_deleted: deletedCount };
      if (remainingIds.length > 0) {
        // The cursor stays the same, so the next step finds the remaining runs again.
        return { cursor: cursor ?? beforeFirst, done, figures };
      }
      return slice.cursor === undefined
        ? {
            done,
            figures,
            result: {
              summary: `Deleted ${describeRuns(deletedCount)}, including the runs below the matching ones.`,
            },
          }
        : { cursor: slice.cursor, done, figures };
    },
  });

/** A position before all runs: the list begins with the latest one. */
const beforeFirst = { micros: Number.MAX_SAFE_INTEGER, id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

const parts = new Set(["id"] as const);
