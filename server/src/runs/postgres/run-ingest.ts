import { deserialize } from "node:v8";
import { RequestError } from "../../model/errors.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Activity } from "../activity.ts";
import type { Promised } from "../../storage/promised.ts";
import { defaultProjectName } from "../run-record.ts";
import type { IngestResult, PackedBatch, Rejection, RunBatch, RunRecord } from "../run-record.ts";
import type { RunFeedback, RunPricesOfTenant } from "../run-writer-dependencies.ts";
import { ActivityCounter } from "../sqlite/activity-counter.ts";
import { unpackPost } from "../sqlite/post-rows.ts";
import type { GroupedBatch } from "../sqlite/post-rows.ts";
import { SpanWriter } from "../spans/span-writer.ts";
import type { SpanDependencies, SpanRunRecord } from "../spans/span-writer.ts";
import { BatchMerger, readRootMicros } from "./batch-merger.ts";
import type { MergedRun, MergeResult, NamedProjects, StoredState } from "./batch-merger.ts";
import { BatchSpans } from "./batch-spans.ts";
import { BatchUsage } from "./batch-usage.ts";
import { toWeek } from "./partitions.ts";
import type { Partitions } from "./partitions.ts";
import type { RunKeys, RunRows } from "./run-rows.ts";

/** What a batch stored. The activity is published once the transaction is committed. */
export interface StoredBatch {
  readonly result: IngestResult;
  readonly activity: readonly Activity[];
}

type PromisedFeedback = Promised<{ readonly feedback: RunFeedback }>["feedback"];

interface IngestDependencies {
  readonly partitions: Partitions;
  readonly rows: RunRows;
  readonly prices: RunPricesOfTenant;
  readonly feedback: PromisedFeedback;
}

/**
 * Stores batches of runs. Several transactions may store runs of a tenant at once, in several processes.
 *
 * All transactions take their locks in the same order, so that they can't deadlock: first partitions, then the traces
 * of spans, then the runs of the batch by their ids (`run_keys`), then projects, then the values of projects. Runs are
 * merged in memory while their locks are held, by the same rules as on SQLite (`merge.ts`).
 */
export class PostgresIngest {
  readonly #db: PostgresDatabase;
  readonly #partitions: Partitions;
  readonly #rows: RunRows;
  readonly #feedback: PromisedFeedback;
  readonly #prices: RunPricesOfTenant;

  constructor(db: PostgresDatabase, { partitions, rows, prices, feedback }: IngestDependencies) {
    this.#db = db;
    this.#partitions = partitions;
    this.#rows = rows;
    this.#prices = prices;
    this.#feedback = feedback;
  }

  /** Stores the operations of a batch. The result lists the operations that could not be stored. */
  async ingest(tenantId: string, received: RunBatch | PackedBatch): Promise<StoredBatch> {
    const batch = unpackBatch(received);
    const { records, attachments, feedback, bodies } = batch;
    const nowMicros = Date.now() * 1_000;
    await this.#partitions.ensure(
      records.map(({ dottedOrder, columns }) =>
        toWeek(readRootMicros(dottedOrder ?? "") ?? columns.startMicros ?? nowMicros),
      ),
    );
    const traceIds = [...new Set(records.flatMap(({ span }) => span?.traceId ?? []))];
    await this.#rows.lockTraces(tenantId, traceIds);
    const storedSpans = traceIds.length === 0 ? [] : await this.#rows.readSpans(tenantId, traceIds);
    const fileOwners = attachments.map(({ runId }) => runId);
    const { keys, newKeys } = await this.#rows.lockRuns(tenantId, {
      records,
      otherIds: traceIds,
      fileOwners,
      nowMicros,
    });
    const relatedIds = new Set([
      ...records.map(({ id }) => id),
      ...fileOwners,
      ...listParents(records),
      ...traceIds,
      ...storedSpans.map(({ runId }) => runId),
    ]);
    const stored = await this.#rows.readStored(
      tenantId,
      [...relatedIds].filter((id) => !newKeys.has(id)),
    );
    // Retention has removed the runs of these keys, but not yet the keys.
    const staleKeys = [...keys].filter(([id]) => !newKeys.has(id) && !stored.has(id));
    await this.#rows.renewKeys(
      tenantId,
      staleKeys.map(([id]) => id),
      keys,
    );
    staleKeys.forEach(([id, key]) => newKeys.set(id, key));
    const digests = await this.#rows.readDigests(tenantId, stored, records);
    const projects = await this.#findProjects(tenantId, records, stored);
    const merger = new BatchMerger({ stored, digests, projects, nowMicros });
    const spans = new BatchSpans(merger, storedSpans);
    const spanWriter = new SpanWriter({
      rows: spans,
      projects: merger.projects,
      facets: { add: () => undefined },
      keys: plainKeys,
    });
    const counts = { accepted: 0, duplicates: 0 };
    const rejected: Rejection[] = [];
    for (const record of records) {
      const result = isSpan(record)
        ? addSpan(merger, spanWriter, { tenantId, record })
        : merger.add(record);
      if (typeof result === "object") {
        rejected.push({ id: record.id, operation: record.operation, ...result });
      } else {
        counts[result === "accepted" ? "accepted" : "duplicates"] += 1;
      }
    }
    const merged = await this.#createProjects(tenantId, merger);
    const activity = await this.#store(tenantId, merged, { newKeys, bodies });
    await this.#rows.writeSpans(tenantId, spans.listChanged());
    await this.#rows.deletePlaceholders(tenantId, merger.removedPlaceholders);
    const mergedIds = new Set(merged.map(({ id }) => id));
    await this.#rows.deleteKeys(
      tenantId,
      [...newKeys.keys()].filter((id) => !mergedIds.has(id)),
    );
    for (const attachment of attachments) {
      const { runId, name } = attachment;
      const isStored =
        merger.has(runId) && (await this.#rows.insertAttachment(tenantId, attachment, bodies));
      if (!isStored) {
        const reason = `attachment ${name}: run ${runId} was not received`;
        rejected.push({ id: runId, operation: null, reason });
      }
    }
    for (const draft of feedback) {
      try {
        const { isNew } = await this.#feedback.add(tenantId, draft);
        counts[isNew ? "accepted" : "duplicates"] += 1;
      } catch (cause) {
        if (!(cause instanceof RequestError)) {
          throw cause;
        }
        const reason = `feedback ${draft.id}: ${cause.message}`;
        rejected.push({ id: draft.runId, operation: null, reason });
      }
    }
    return { result: { ...counts, rejected }, activity };
  }

  clearCaches(): void {
    this.#partitions.clearCache();
    this.#rows.clearCache();
  }

  /** Finds the projects that the records name, and locks them against deletion until the end of the transaction. */
  async #findProjects(
    tenantId: string,
    records: readonly RunRecord[],
    stored: ReadonlyMap<string, StoredState>,
  ): Promise<NamedProjects> {
    const names = new Set([defaultProjectName]);
    const ids = new Set([...stored.values()].map(({ row }) => row.projectId));
    for (const { columns } of records) {
      if (typeof columns.projectId === "string") {
        ids.add(columns.projectId);
      } else if (typeof columns.projectName === "string") {
        names.add(columns.projectName);
      }
    }
    const { rows } = await this.#db.query<{ readonly id: string; readonly name_json: string }>(
      `SELECT id, name_json FROM projects
       WHERE tenant_id = $1 AND (name_json = ANY($2::text[]) OR id = ANY($3::text[])) ORDER BY id FOR KEY SHARE`,
      [tenantId, [...names].map((name) => JSON.stringify(name)), [...ids]],
    );
    return {
      idsByName: new Map(rows.map(({ id, name_json: json }) => [String(JSON.parse(json)), id])),
      ids: new Set(rows.map(({ id }) => id)),
    };
  }

  /**
   * Creates the projects that are missing, and returns the merged runs. Another transaction may have created one of the
   * projects meanwhile; its id then replaces the one that was assigned.
   */
  async #createProjects(tenantId: string, merger: BatchMerger): Promise<readonly MergedRun[]> {
    const merged = merger.listMerged();
    const usedIds = new Set(merged.map(({ row }) => row.projectId));
    const created = [...merger.newProjects].filter(([, id]) => usedIds.has(id));
    if (created.length === 0) {
      return merged;
    }
    const names = created.map(([name]) => JSON.stringify(name)).toSorted();
    const idsByName = new Map(created.map(([name, id]) => [JSON.stringify(name), id]));
    await this.#db.query(
      `INSERT INTO projects (tenant_id, id, name_json, start_us)
       SELECT $1, i.id, i.name, $4::bigint FROM unnest($2::text[], $3::text[]) i (id, name) ORDER BY i.name
       ON CONFLICT DO NOTHING`,
      [tenantId, names.map((name) => idsByName.get(name)), names, Date.now() * 1_000],
    );
    const { rows } = await this.#db.query<{ readonly id: string; readonly name_json: string }>(
      "SELECT id, name_json FROM projects WHERE tenant_id = $1 AND name_json = ANY($2::text[])",
      [tenantId, names],
    );
    const finalIds = new Map(
      rows.map(({ id, name_json: json }) => [idsByName.get(json) ?? id, id] as const),
    );
    return merged.map((run) => ({
      ...run,
      row: { ...run.row, projectId: finalIds.get(run.row.projectId) ?? run.row.projectId },
    }));
  }

  async #store(
    tenantId: string,
    merged: readonly MergedRun[],
    { newKeys, bodies }: { readonly newKeys: RunKeys; readonly bodies: Uint8Array },
  ): Promise<StoredBatch["activity"]> {
    if (merged.length === 0) {
      return [];
    }
    const reported = await new BatchUsage(this.#rows, bodies).read(tenantId, merged);
    if (reported.size > 0) {
      await this.#prices.read(tenantId);
    }
    const activity = new ActivityCounter();
    const changes = merged.map((run) => {
      const { row, stored, added } = run;
      const reportedUsage = reported.get(run.id);
      if (added.length === 0) {
        return { ...run, usage: stored?.usage };
      }
      const usage = reportedUsage && this.#prices.price(tenantId, row, reportedUsage);
      activity.add(tenantId, {
        previous: stored?.row,
        row,
        measures: added.some(({ measures }) => measures !== undefined)
          ? usage?.measures
          : undefined,
      });
      return { ...run, usage };
    });
    await this.#rows.writeChanges(tenantId, changes, { newKeys, bodies });
    return activity.takeCounts();
  }
}

/** Ids serve as keys, because the keys of all tables of PostgreSQL begin with the tenant. */
const plainKeys: SpanDependencies["keys"] = {
  keyOf: (_kind, _tenantId, id) => id,
  assignQualifiedKey: (_kind, _tenantId, id) => id,
};

const isSpan = (record: RunRecord): record is SpanRunRecord => record.span !== undefined;

/** Adds a run that was received as a span, at the position that follows from the spans received so far. */
function addSpan(
  merger: BatchMerger,
  spans: SpanWriter,
  { tenantId, record }: { readonly tenantId: string; readonly record: SpanRunRecord },
): MergeResult {
  const placed = spans.resolvePosition(tenantId, record);
  const result = merger.add(placed);
  if (result === "accepted") {
    spans.moveChildren(tenantId, record, placed.id);
  }
  return result;
}

/**
 * Returns a batch with all of its records in their order. The store may have packed new runs as rows (`packPosts`).
 * They precede all other records.
 */
function unpackBatch(received: RunBatch | PackedBatch): RunBatch {
  const batch: GroupedBatch =
    "packed" in received
      ? {
          ...(deserialize(received.packed) as Omit<GroupedBatch, "bodies">),
          bodies: received.bodies,
        }
      : received;
  const { posts, ...rest } = batch;
  return posts === undefined
    ? rest
    : {
        ...rest,
        records: [
          ...posts.facetIndexes.map((_facets, index) => unpackPost(posts, index)),
          ...rest.records,
        ],
      };
}

/**
 * Lists the parents of new runs that have no dotted order: the positions of these runs are derived from their parents.
 */
const listParents = (records: readonly RunRecord[]): readonly string[] =>
  records.flatMap(({ operation, dottedOrder, columns }) =>
    operation === "post" && dottedOrder === undefined && typeof columns.parentRunId === "string"
      ? [columns.parentRunId]
      : [],
  );
