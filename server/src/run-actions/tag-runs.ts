import { Type } from "typebox";
import { defineJobKind } from "../jobs/job-kind.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import { RequestError } from "../model/errors.ts";
import { parseBatch } from "../runs/ingest/parse-batch.ts";
import type { IngestResult, RunBatch } from "../runs/run-record.ts";
import type { StoredRun } from "../runs/run-row.ts";
import { createMembers } from "../runs/serializers/run-json.ts";
import {
  deriveId,
  describeRuns,
  snapshotMatchingRuns,
  matchingRunsSchema,
  readMatchingRuns,
} from "./matching-runs.ts";
import type { MatchingRunStore } from "./matching-runs.ts";

/** The part of the store that changes runs. */
export interface TagStore extends MatchingRunStore {
  ingest(tenantId: string, batch: RunBatch): Promise<IngestResult>;
}

const runsPerStep = 50;

const tag = Type.String({ minLength: 1, maxLength: 200 });

/** Adds a tag to all matching runs, or removes it from them. */
export const createTagRuns = (store: TagStore): AnyJobKind =>
  defineJobKind({
    name: "runs.tag",
    parameters: Type.Object({
      runs: matchingRunsSchema,
      add: Type.Optional(tag),
      remove: Type.Optional(tag),
    }),
    prepare: async (tenantId, { runs, ...tags }) => {
      if ((tags.add === undefined) === (tags.remove === undefined)) {
        throw new RequestError(422, "parameters must have either add or remove");
      }
      const snapshot = await snapshotMatchingRuns(store, tenantId, runs);
      const runCountText = describeRuns(snapshot.total);
      return {
        title:
          tags.remove === undefined
            ? `Add tag “${tags.add}” to ${runCountText}`
            : `Remove tag “${tags.remove}” from ${runCountText}`,
        parameters: { ...tags, runs: snapshot.runs },
        ...(snapshot.total === undefined ? {} : { total: snapshot.total }),
      };
    },
    step: async ({ tenantId, jobId, parameters, progress }, cursor) => {
      const { runs, add, remove } = parameters;
      const slice = await readMatchingRuns(store, tenantId, { runs, cursor, limit: runsPerStep });
      const patches = slice.runs.flatMap((run) => createPatch(run, { add, remove }));
      const failures = await sendPatches(store, { tenantId, jobId, patches });
      const done = progress.done + slice.runs.length;
      const changed = (progress.figures["runs_changed"] ?? 0) + patches.length - failures.length;
      return {
        ...(slice.cursor === undefined
          ? { result: { summary: `Changed ${describeRuns(changed)}.` } }
          : { cursor: slice.cursor }),
        done,
        figures: { runs_changed: changed },
        failures,
      };
    },
  });

interface TagPatch {
  readonly id: string;
  readonly trace_id: string;
  readonly dotted_order: string;
  readonly tags: readonly string[];
}

/** Returns the patch of a run as a list, which is empty if the run has the right tags already. */
function createPatch(
  run: StoredRun,
  { add, remove }: { readonly add: string | undefined; readonly remove: string | undefined },
): readonly TagPatch[] {
  const currentTags = readTags(run);
  const otherTags = currentTags.filter((name) => name !== add && name !== remove);
  const tags = add === undefined ? otherTags : [...otherTags, add];
  const { id, traceId, dottedOrder } = run.row;
  return currentTags.length === tags.length && currentTags.every((name) => tags.includes(name))
    ? []
    : [{ id, trace_id: traceId, dotted_order: dottedOrder, tags }];
}

function readTags(run: StoredRun): readonly string[] {
  const json = createMembers(run, { select: tagsOnly }).get("tags")?.toString("utf8") ?? "null";
  const value: unknown = JSON.parse(json);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

const tagsOnly = new Set(["tags"]);

/**
 * Stores patches like those of a client, except for how repetitions are detected. A patch of a client counts as a
 * repetition if the same content was received before. A patch of a job counts as one only if the same job sent it
 * before, so that a tag can be added, removed and added again.
 *
 * @returns the reasons why patches were not stored
 */
async function sendPatches(
  store: TagStore,
  {
    tenantId,
    jobId,
    patches,
  }: { readonly tenantId: string; readonly jobId: string; readonly patches: readonly TagPatch[] },
): Promise<readonly string[]> {
  if (patches.length === 0) {
    return [];
  }
  const { batch, rejected } = parseBatch(Buffer.from(JSON.stringify({ patch: patches })));
  const records = batch.records.map((record) => ({
    ...record,
    digest: deriveId(jobId, record.id),
  }));
  const result = await store.ingest(tenantId, { ...batch, records });
  return [...rejected, ...result.rejected].map(({ id, reason }) => `run ${id}: ${reason}`);
}
