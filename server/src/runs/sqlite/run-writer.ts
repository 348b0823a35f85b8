import { randomUUID } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import { mergeRecord, resolvePosition } from "../merge.ts";
import type { TracePosition } from "../merge.ts";
import { isModelCall } from "../usage/run-cost.ts";
import type { PricedUsage, ReportedUsage } from "../usage/run-cost.ts";
import type { AttachmentRecord, IngestResult, Rejection, RunRecord } from "../run-record.ts";
import type { FeedbackDraft } from "../run-feedback.ts";
import type { RunWrites, TreeDeletion } from "../run-query.ts";
import type { RunRow } from "../run-row.ts";
import { digestToken, readToken } from "../../storage/share-token.ts";
import { ActivityCounter } from "./activity-counter.ts";
import { computeChecksum } from "../../storage/sqlite/checksum.ts";
import { FacetWriter } from "./facet-writer.ts";
import { MeasureWriter, toReportedUsage } from "./measure-writer.ts";
import type { GroupedBatch } from "./post-rows.ts";
import { PostWriter } from "./post-writer.ts";
import type {
  RunFeedback,
  RunMetrics,
  RunPrices,
  RunProjects,
} from "../run-writer-dependencies.ts";
import {
  insertMeasuredRunClause,
  insertRunClause,
  measuresToValues,
  parseRow,
  rowToValues,
  runColumns,
  tablesWithRunRows,
  wholeColumns,
} from "./run-columns.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { RunDeleter } from "./run-deleter.ts";
import { SqliteSpanRows } from "./span-rows.ts";
import { SqliteSharedTexts } from "../shared-texts/sqlite-shared-texts.ts";
import { SpanWriter } from "../spans/span-writer.ts";
import type { SpanRunRecord } from "../spans/span-writer.ts";
import { idOf } from "../../storage/row-keys.ts";
import type { TenantKeyWriter } from "../../storage/sqlite/tenant-keys.ts";
import { selectToken, tokenOwnerSql, toShareToken } from "../../storage/sqlite/token-keys.ts";

type ApplyResult = "accepted" | "duplicate" | { readonly reason: string };

/** The tenant whose batch is applied, and the batch's payloads. */
interface BatchScope {
  readonly tenantId: string;
  readonly bodies: Uint8Array;
}

/** Applies received operations to the database. The caller controls the transaction. */
export class RunWriter implements RunWrites {
  /** Counts what was stored, for the live view. */
  readonly activity = new ActivityCounter();
  readonly #keys: TenantKeyWriter;
  readonly #projects: RunProjects;
  readonly #feedback: RunFeedback;
  readonly #spans: SpanWriter;
  readonly #facets: FacetWriter;
  readonly #metrics: RunMetrics;
  readonly #prices: RunPrices;
  readonly #measures: MeasureWriter;
  readonly #posts: PostWriter;
  readonly #sharedTexts: SqliteSharedTexts;
  readonly #deleter: RunDeleter;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(
    db: Connection,
    {
      projects,
      feedback,
      keys,
      prices,
      metrics,
    }: {
      readonly projects: RunProjects;
      readonly feedback: RunFeedback;
      readonly keys: TenantKeyWriter;
      readonly prices: RunPrices;
      readonly metrics: RunMetrics;
    },
  ) {
    this.#keys = keys;
    this.#projects = projects;
    this.#feedback = feedback;
    this.#facets = new FacetWriter(db);
    this.#metrics = metrics;
    this.#spans = new SpanWriter({
      rows: new SqliteSpanRows(db, metrics),
      projects,
      facets: this.#facets,
      keys,
    });
    this.#prices = prices;
    this.#measures = new MeasureWriter(db, prices);
    this.#sharedTexts = new SqliteSharedTexts(db);
    this.#posts = new PostWriter(db, {
      projects,
      facets: this.#facets,
      activity: this.activity,
      prices,
      metrics,
      sharedTexts: this.#sharedTexts,
    });
    this.#deleter = new RunDeleter(db);
    this.#statements = prepareStatements(db);
  }

  /** Stores the operations of a batch. The result lists the operations that could not be stored. */
  apply(
    tenantId: string,
    { posts, records, attachments, feedback, bodies }: GroupedBatch,
  ): IngestResult {
    const scope: BatchScope = { tenantId, bodies };
    this.#facets.beginBatch();
    this.#metrics.beginBatch();
    const counts = { accepted: 0, duplicates: 0 };
    const rejected: Rejection[] = [];
    const applyRecord = (record: RunRecord): void => {
      const result = isSpan(record)
        ? this.#applySpan(record, scope)
        : this.#applyRecord(record, scope);
      if (result === "accepted") {
        counts.accepted += 1;
      } else if (result === "duplicate") {
        counts.duplicates += 1;
      } else {
        rejected.push({ id: record.id, operation: record.operation, ...result });
      }
    };
    if (posts !== undefined) {
      const { accepted, duplicates } = this.#posts.write(posts, {
        ...scope,
        applyRecord,
        findQualifiedIds: (listIds) =>
          this.#keys.hasQualifiedKeys(tenantId)
            ? this.#keys.findQualifiedIds("run", tenantId, listIds())
            : new Set(),
      });
      counts.accepted += accepted;
      counts.duplicates += duplicates;
    }
    records.forEach(applyRecord);
    for (const attachment of attachments) {
      if (!this.#applyAttachment(attachment, scope)) {
        const reason = `attachment ${attachment.name}: run ${attachment.runId} was not received`;
        rejected.push({ id: attachment.runId, operation: null, reason });
      }
    }
    for (const draft of feedback) {
      const result = this.#applyFeedback(draft, scope);
      if (typeof result === "object") {
        rejected.push({ id: draft.runId, operation: null, ...result });
      } else {
        counts[result === "accepted" ? "accepted" : "duplicates"] += 1;
      }
    }
    return { ...counts, rejected };
  }

  /** Must be called after a rollback, because cached rows may not be in the database any more. */
  clearCaches(): void {
    this.#keys.clearCache();
    this.#projects.clearCache();
    this.#prices.clearCache();
  }

  share(tenantId: string, id: string): string {
    const row = this.#findOwnRow(tenantId, id);
    if (row === undefined) {
      throw new RequestError(404, "Run not found");
    }
    const [existing] = parseRows(this.#statements.findShare.all([row.traceId, row.id]));
    const existingToken = readToken(toShareToken(existing?.[0]));
    if (existingToken !== null) {
      return existingToken;
    }
    const token = randomUUID();
    this.#statements.insertShare.run([digestToken(token), token, row.traceId, row.id]);
    return token;
  }

  unshare(tenantId: string, id: string): void {
    const row = this.#findOwnRow(tenantId, id);
    if (row !== undefined) {
      this.#statements.deleteShare.run([row.id]);
    }
  }

  deleteTrees(tenantId: string, ids: readonly string[]): TreeDeletion {
    let deletedCount = 0;
    for (const [index, id] of ids.entries()) {
      const row = this.#findOwnRow(tenantId, id);
      if (row !== undefined) {
        const limit = runsPerDeletion - deletedCount;
        const { deleted, isComplete } = this.#deleter.deleteSome(tenantId, row, limit);
        this.#sharedTexts.deleteUnused();
        deletedCount += deleted;
        if (!isComplete) {
          return { deleted: deletedCount, remainingIds: ids.slice(index) };
        }
      }
      if (deletedCount >= runsPerDeletion) {
        return { deleted: deletedCount, remainingIds: ids.slice(index + 1) };
      }
    }
    return { deleted: deletedCount, remainingIds: [] };
  }

  #applySpan(record: SpanRunRecord, scope: BatchScope): ApplyResult {
    const placedRecord = this.#spans.resolvePosition(scope.tenantId, record);
    const result = this.#applyRecord(placedRecord, scope);
    if (result === "accepted") {
      this.#spans.moveChildren(
        scope.tenantId,
        record,
        this.#keyOf(scope.tenantId, placedRecord.id),
      );
    }
    return result;
  }

  #applyRecord(record: RunRecord, scope: BatchScope): ApplyResult {
    const mayBeNew = record.operation === "post" && record.dottedOrder !== undefined;
    const key = this.#keyOf(scope.tenantId, record.id);
    // Try the common case first: the post of a new run is inserted without searching for an existing run.
    const result = mayBeNew ? this.#merge(record, { key, previous: undefined }, scope) : "exists";
    return result === "exists" ? this.#applyToExisting(record, key, scope) : result;
  }

  /** Applies a record to a run that may exist already, and may belong to another tenant. */
  #applyToExisting(record: RunRecord, key: string, scope: BatchScope): ApplyResult {
    const { tenantId } = scope;
    const row = this.#findRow(key);
    const isOwnRun = row !== undefined && this.#projects.belongsTo(tenantId, row.projectId);
    const result =
      row === undefined || isOwnRun
        ? this.#merge(record, { key, previous: row }, scope)
        : this.#merge(
            record,
            { key: this.#keys.assignQualifiedKey("run", tenantId, record.id), previous: undefined },
            scope,
          );
    return result === "exists" ? { reason: `run ${idOf(key)} could not be stored` } : result;
  }

  #merge(record: RunRecord, { key, previous }: OwnRun, scope: BatchScope): ApplyResult | "exists" {
    const { tenantId } = scope;
    const position = resolvePosition(record, previous, (id) => this.#findOwnRow(tenantId, id));
    if ("reason" in position) {
      return position;
    }
    if (previous !== undefined && record.operation === "post" && previous.posted) {
      return "duplicate";
    }
    const project = this.#projects.resolve(tenantId, record.columns);
    if (typeof project === "object") {
      return project;
    }
    const merged = mergeRecord(previous, record, {
      position,
      ...(project === undefined ? {} : { projectId: project }),
      defaultProjectId:
        previous?.projectId ?? this.#projects.resolveDefault(tenantId, record.columns),
      nowMicros: Date.now() * 1_000,
    });
    return this.#store(record, { previous, row: replaceIdByKey(merged, key), scope });
  }

  #store(
    record: RunRecord,
    { previous, row, scope }: { previous: RunRow | undefined; row: RunRow; scope: BatchScope },
  ): ApplyResult | "exists" {
    const { insertRun, insertMeasuredRun, updateRun, recordTextChange, insertPayload } =
      this.#statements;
    const usage = toReportedUsage(record);
    if (previous !== undefined) {
      this.#metrics.mark(previous.projectId, previous.startMicros);
    }
    this.#metrics.mark(row.projectId, row.startMicros, row);
    const mayHaveFirstToken =
      (usage?.measures.first_token_us ?? null) !== null ||
      (previous !== undefined && previous.measureState !== "none");
    for (const { runType, traceId } of previous === undefined ? [row] : [previous, row]) {
      if (isModelCall(runType) || mayHaveFirstToken) {
        this.#metrics.markTrace(traceId);
      }
    }
    let priced = previous === undefined ? this.#price(scope.tenantId, row, usage) : undefined;
    if (previous === undefined) {
      const insertion =
        priced === undefined
          ? insertRun.run(rowToValues(row))
          : insertMeasuredRun.run([...rowToValues(row), ...measuresToValues(priced)]);
      if (insertion.changes === 0) {
        return "exists";
      }
    } else if (previous.traceId !== row.traceId) {
      // The trace id of a run without a dotted order is only assumed, and changes when the dotted order arrives.
      this.#changeTraceId(row.id, row);
    }
    const body = scope.bodies.subarray(record.bodyStart, record.bodyEnd);
    const { shareable, digest } = record;
    const checksum = computeChecksum(body, row.id);
    const { traceId, id } = row;
    const isNew =
      shareable === undefined
        ? insertPayload.run([traceId, id, digest, body, checksum]).changes > 0
        : this.#sharedTexts.insertPayload(
            scope.tenantId,
            { traceId, id, digest, body, checksum },
            shareable,
          );
    if (!isNew) {
      return "duplicate";
    }
    if (previous !== undefined) {
      updateRun.run([...rowToValues(row), row.traceId, row.id]);
      recordTextChange.run([row.traceId, row.id]);
      priced = this.#measures.update(scope.tenantId, record, { previous, row });
    }
    this.#facets.add(row, record.facets);
    this.activity.add(scope.tenantId, {
      previous,
      row,
      measures: record.measures && priced?.measures,
    });
    return "accepted";
  }

  #price(tenantId: string, row: RunRow, usage: ReportedUsage | undefined): PricedUsage | undefined {
    return usage && this.#prices.price(tenantId, row, usage);
  }

  /** Moves a run, whose trace id was only assumed, to its actual trace. */
  #changeTraceId(id: string, { traceId }: Pick<TracePosition, "traceId">): void {
    for (const updateTraceId of this.#statements.updateTraceIds) {
      updateTraceId.run([traceId, id]);
    }
  }

  #applyAttachment(attachment: AttachmentRecord, { tenantId, bodies }: BatchScope): boolean {
    const row = this.#findOwnRow(tenantId, attachment.runId);
    if (row === undefined) {
      return false;
    }
    const bytes = bodies.subarray(attachment.bodyStart, attachment.bodyEnd);
    const { name, contentType } = attachment;
    const checksum = computeChecksum(bytes, row.id, name, contentType);
    this.#statements.insertAttachment.run([
      row.traceId,
      row.id,
      name,
      contentType,
      bytes,
      checksum,
    ]);
    return true;
  }

  #applyFeedback(draft: FeedbackDraft, { tenantId }: BatchScope): ApplyResult {
    try {
      return this.#feedback.add(tenantId, draft).isNew ? "accepted" : "duplicate";
    } catch (cause) {
      if (!(cause instanceof RequestError)) {
        throw cause;
      }
      return { reason: `feedback ${draft.id}: ${cause.message}` };
    }
  }

  #keyOf(tenantId: string, id: string): string {
    return this.#keys.keyOf("run", tenantId, id);
  }

  #findOwnRow(tenantId: string, id: string): RunRow | undefined {
    const row = this.#findRow(this.#keyOf(tenantId, id));
    return row !== undefined && this.#projects.belongsTo(tenantId, row.projectId) ? row : undefined;
  }

  #findRow(key: string): RunRow | undefined {
    const [values] = parseRows(this.#statements.findRun.all([key]));
    return values === undefined ? undefined : parseRow(values);
  }
}

/** Maximum number of runs that one call of `deleteTrees` deletes. */
const runsPerDeletion = 100;

/** A run of the tenant. `previous` is its stored row, if it exists. */
interface OwnRun {
  readonly key: string;
  readonly previous: RunRow | undefined;
}

/**
 * Returns the row with the run's database key in place of its id. The ids in its position (trace id, parent id and
 * dotted order) are not replaced.
 */
const replaceIdByKey = (row: RunRow, key: string): RunRow =>
  row.id === key ? row : { ...row, id: key };

const isSpan = (record: RunRecord): record is SpanRunRecord => record.span !== undefined;

function prepareStatements(db: Connection) {
  const assignments = runColumns.map((name) => `${name} = ?`).join(", ");
  return {
    insertRun: db.prepare(`INSERT OR IGNORE ${insertRunClause}`),
    insertMeasuredRun: db.prepare(`INSERT OR IGNORE ${insertMeasuredRunClause}`),
    updateRun: db.prepare(`UPDATE runs SET ${assignments} WHERE trace_id = ? AND id = ?`),
    // Records that a run has changed, because the text index does not contain the change yet.
    recordTextChange: db.prepare(
      `INSERT INTO text_changes (run) SELECT rowid FROM runs
         WHERE trace_id = ? AND id = ? AND rowid <= (SELECT row FROM text_claim)`,
    ),
    findRun: db.prepare(`SELECT ${wholeColumns.join(", ")} FROM runs WHERE id = ?`).raw(),
    insertPayload: db.prepare(
      "INSERT OR IGNORE INTO payloads (trace_id, id, digest, body, checksum) VALUES (?, ?, ?, CAST(? AS TEXT), ?)",
    ),
    insertAttachment: db.prepare(
      `INSERT OR REPLACE INTO attachments (trace_id, id, name, content_type, bytes, checksum)
         VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    insertShare: db.prepare(
      `INSERT INTO shares (digest, sealed, trace_id, id)
       VALUES (?1, seal_token(?2, ${tokenOwnerSql.run("?4")}), ?3, ?4)`,
    ),
    findShare: db
      .prepare(
        `SELECT ${selectToken("sealed", tokenOwnerSql.run("id"))} FROM shares WHERE trace_id = ? AND id = ?`,
      )
      .raw(),
    deleteShare: db.prepare("DELETE FROM shares WHERE id = ?"),
    updateTraceIds: tablesWithRunRows.map((table) =>
      db.prepare(`UPDATE ${table} SET trace_id = ? WHERE id = ?`),
    ),
  };
}
