import { randomUUID } from "node:crypto";
import { RequestError } from "../../model/errors.ts";
import { mergeRecord, placeRecord } from "../merge.ts";
import type { TracePosition } from "../merge.ts";
import type {
  AttachmentRecord,
  IngestResult,
  Rejection,
  RunBatch,
  RunRecord,
} from "../run-record.ts";
import type { FeedbackDraft } from "../run-feedback.ts";
import type { RunWrites } from "../run-query.ts";
import type { RunRow } from "../run-row.ts";
import { readToken } from "../../storage/share-token.ts";
import { ActivityCounter } from "./activity-counter.ts";
import { checksumOf } from "../../storage/sqlite/checksum.ts";
import { FacetWriter } from "./facet-writer.ts";
import { MeasureWriter } from "./measure-writer.ts";
import { PostWriter } from "./post-writer.ts";
import type { RunFeedback, RunProjects } from "../run-writer-needs.ts";
import {
  intoMeasuredRuns,
  intoRuns,
  measuresToValues,
  parseRow,
  rowToValues,
  runColumns,
  runTables,
  wholeColumns,
} from "./row.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { SpanRows } from "./span-rows.ts";
import { SpanWriter } from "./span-writer.ts";
import type { SpanRunRecord } from "./span-writer.ts";
import { idOf } from "../../storage/sqlite/tenant-keys.ts";
import type { TenantKeyWriter } from "../../storage/sqlite/tenant-keys.ts";
import {
  digestToken,
  openedToken,
  tokenOwners,
  toShareToken,
} from "../../storage/sqlite/token-keys.ts";

type Fate = "accepted" | "duplicate" | { readonly reason: string };

/** Whose batch is applied, and the payloads that it came with. */
interface RunWriterParts {
  readonly tenantId: string;
  readonly bodies: Uint8Array;
}

/** Applies received operations to the database. Transactions are the caller's. */
export class RunWriter implements RunWrites {
  /** What was stored since it was last taken. */
  readonly activity = new ActivityCounter();
  readonly #keys: TenantKeyWriter;
  readonly #projects: RunProjects;
  readonly #feedback: RunFeedback;
  readonly #spans: SpanWriter;
  readonly #facets: FacetWriter;
  readonly #measures: MeasureWriter;
  readonly #posts: PostWriter;
  readonly #statements: ReturnType<typeof prepareStatements>;
  /** Whether a run without a dotted order may exist; its assumed trace id changes when one comes. */
  #hasUnplaced: boolean;

  constructor(
    db: Connection,
    {
      projects,
      feedback,
      keys,
    }: {
      readonly projects: RunProjects;
      readonly feedback: RunFeedback;
      readonly keys: TenantKeyWriter;
    },
  ) {
    this.#keys = keys;
    this.#projects = projects;
    this.#feedback = feedback;
    this.#facets = new FacetWriter(db);
    this.#spans = new SpanWriter({
      rows: new SpanRows(db),
      projects,
      facets: this.#facets,
      keys,
    });
    this.#measures = new MeasureWriter(db);
    this.#posts = new PostWriter(db, { projects, facets: this.#facets, activity: this.activity });
    this.#statements = prepareStatements(db);
    this.#hasUnplaced = this.#statements.findUnplaced.all().length > 0;
  }

  /** Stores what can be stored of a batch; what can't is named in the result. */
  apply(
    tenantId: string,
    { posts, records, attachments, feedback, bodies }: RunBatch,
  ): IngestResult {
    const dependencies: RunWriterParts = { tenantId, bodies };
    this.#facets.begin();
    const counts = { accepted: 0, duplicates: 0 };
    const rejected: Rejection[] = [];
    const take = (record: RunRecord): void => {
      const fate = isSpan(record)
        ? this.#applySpan(record, dependencies)
        : this.#applyRecord(record, dependencies);
      if (fate === "accepted") {
        counts.accepted += 1;
      } else if (fate === "duplicate") {
        counts.duplicates += 1;
      } else {
        rejected.push({ id: record.id, operation: record.operation, ...fate });
      }
    };
    if (posts !== undefined) {
      const { accepted, duplicates } = this.#posts.write(posts, {
        ...dependencies,
        onTaken: take,
        findLong: (listIds) =>
          this.#keys.hasLong(tenantId)
            ? this.#keys.findLong("run", tenantId, listIds())
            : new Set(),
      });
      counts.accepted += accepted;
      counts.duplicates += duplicates;
    }
    records.forEach(take);
    for (const attachment of attachments) {
      if (!this.#applyAttachment(attachment, dependencies)) {
        const reason = `attachment ${attachment.name}: run ${attachment.runId} was not received`;
        rejected.push({ id: attachment.runId, operation: null, reason });
      }
    }
    for (const draft of feedback) {
      const fate = this.#applyFeedback(draft, dependencies);
      if (typeof fate === "object") {
        rejected.push({ id: draft.runId, operation: null, ...fate });
      } else {
        counts[fate === "accepted" ? "accepted" : "duplicates"] += 1;
      }
    }
    return { ...counts, rejected };
  }

  /** After a rollback: what was remembered of the database may not be there. */
  forget(): void {
    this.#keys.forget();
    this.#projects.forget();
    this.#hasUnplaced = true;
  }

  share(tenantId: string, id: string): string {
    const row = this.#findOwn(tenantId, id);
    if (row === undefined) {
      throw new RequestError(404, "Run not found");
    }
    const [known] = parseRows(this.#statements.findShare.all([row.traceId, row.id]));
    const shown = readToken(toShareToken(known?.[0]));
    if (shown !== null) {
      return shown;
    }
    const token = randomUUID();
    this.#statements.insertShare.run([digestToken(token), token, row.traceId, row.id]);
    return token;
  }

  unshare(tenantId: string, id: string): void {
    const row = this.#findOwn(tenantId, id);
    if (row !== undefined) {
      this.#statements.deleteShare.run([row.id]);
    }
  }

  #applySpan(record: SpanRunRecord, dependencies: RunWriterParts): Fate {
    const placed = this.#spans.place(dependencies.tenantId, record);
    const fate = this.#applyRecord(placed, dependencies);
    if (fate === "accepted") {
      this.#spans.settle(
        dependencies.tenantId,
        record,
        this.#keyOf(dependencies.tenantId, placed.id),
      );
    }
    return fate;
  }

  #applyRecord(record: RunRecord, dependencies: RunWriterParts): Fate {
    const isNew = record.operation === "post" && record.dottedOrder !== undefined;
    const key = this.#keyOf(dependencies.tenantId, record.id);
    // The common case first: a post never seen is one insert, without a look-up.
    const fate = isNew ? this.#merge(record, { key, known: undefined }, dependencies) : "taken";
    return fate === "taken" ? this.#mergeKnown(record, key, dependencies) : fate;
  }

  /** Of a run of which something may have been received, by this tenant or by another one. */
  #mergeKnown(record: RunRecord, key: string, dependencies: RunWriterParts): Fate {
    const { tenantId } = dependencies;
    const row = this.#findRow(key);
    const isOwn = row !== undefined && this.#projects.isOf(tenantId, row.projectId);
    const fate =
      row === undefined || isOwn
        ? this.#merge(record, { key, known: row }, dependencies)
        : this.#merge(
            record,
            { key: this.#keys.lengthen("run", tenantId, record.id), known: undefined },
            dependencies,
          );
    return fate === "taken" ? { reason: `run ${idOf(key)} could not be stored` } : fate;
  }

  #merge(record: RunRecord, { key, known }: OwnRun, dependencies: RunWriterParts): Fate | "taken" {
    const { tenantId } = dependencies;
    const place = placeRecord(record, known, (id) => this.#findOwn(tenantId, id));
    if ("reason" in place) {
      return place;
    }
    if (known !== undefined && record.operation === "post" && known.posted) {
      return "duplicate";
    }
    const project = this.#projects.resolve(tenantId, record.columns);
    if (typeof project === "object") {
      return project;
    }
    const merged = mergeRecord(known, record, {
      place,
      ...(project === undefined ? {} : { projectId: project }),
      defaultProjectId: known?.projectId ?? this.#projects.defaultId(tenantId, record.columns),
      nowMicros: Date.now() * 1_000,
    });
    return this.#store(record, { known, row: withKey(merged, key), dependencies });
  }

  #store(
    record: RunRecord,
    {
      known,
      row,
      dependencies,
    }: { known: RunRow | undefined; row: RunRow; dependencies: RunWriterParts },
  ): Fate | "taken" {
    const { insertRun, insertMeasuredRun, updateRun, noteChange, insertPayload } = this.#statements;
    if (known === undefined) {
      const { measures } = record;
      const inserted =
        measures === undefined
          ? insertRun.run(rowToValues(row))
          : insertMeasuredRun.run([...rowToValues(row), ...measuresToValues(measures)]);
      if (inserted.changes === 0) {
        return "taken";
      }
      this.#hasUnplaced ||= row.dottedOrder === "";
    } else if (this.#hasUnplaced && known.traceId !== row.traceId) {
      this.#move(row.id, row);
    }
    const body = dependencies.bodies.subarray(record.bodyStart, record.bodyEnd);
    const payload = [row.traceId, row.id, record.digest, body, checksumOf(body, row.id)];
    if (insertPayload.run(payload).changes === 0) {
      return "duplicate";
    }
    if (known !== undefined) {
      updateRun.run([...rowToValues(row), row.traceId, row.id]);
      noteChange.run([row.traceId, row.id]);
      this.#measures.add(record, known, row);
    }
    this.#facets.add(row, record.facets);
    this.activity.add(dependencies.tenantId, { known, row, measures: record.measures });
    return "accepted";
  }

  /** A run whose trace id was assumed goes to its real one. */
  #move(id: string, { traceId }: Pick<TracePosition, "traceId">): void {
    for (const move of this.#statements.moves) {
      move.run([traceId, id]);
    }
  }

  #applyAttachment(attachment: AttachmentRecord, { tenantId, bodies }: RunWriterParts): boolean {
    const row = this.#findOwn(tenantId, attachment.runId);
    if (row === undefined) {
      return false;
    }
    const bytes = bodies.subarray(attachment.bodyStart, attachment.bodyEnd);
    const { name, contentType } = attachment;
    const checksum = checksumOf(bytes, row.id, name, contentType);
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

  #applyFeedback(draft: FeedbackDraft, { tenantId }: RunWriterParts): Fate {
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

  #findOwn(tenantId: string, id: string): RunRow | undefined {
    const row = this.#findRow(this.#keyOf(tenantId, id));
    return row !== undefined && this.#projects.isOf(tenantId, row.projectId) ? row : undefined;
  }

  #findRow(key: string): RunRow | undefined {
    const [values] = parseRows(this.#statements.findRun.all([key]));
    return values === undefined ? undefined : parseRow(values);
  }
}

/** A run of the tenant's, by the key that it has or is to have. */
interface OwnRun {
  readonly key: string;
  readonly known: RunRow | undefined;
}

/** The row as it is stored. Its position in the trace is stored as ids. */
const withKey = (row: RunRow, key: string): RunRow => (row.id === key ? row : { ...row, id: key });

const isSpan = (record: RunRecord): record is SpanRunRecord => record.span !== undefined;

function prepareStatements(db: Connection) {
  const assignments = runColumns.map((name) => `${name} = ?`).join(", ");
  return {
    insertRun: db.prepare(`INSERT OR IGNORE ${intoRuns}`),
    insertMeasuredRun: db.prepare(`INSERT OR IGNORE ${intoMeasuredRuns}`),
    updateRun: db.prepare(`UPDATE runs SET ${assignments} WHERE trace_id = ? AND id = ?`),
    // What the text index has of it is no longer all.
    noteChange: db.prepare(
      `INSERT INTO text_changes (run) SELECT rowid FROM runs
         WHERE trace_id = ? AND id = ? AND rowid <= (SELECT row FROM text_claim)`,
    ),
    findRun: db.prepare(`SELECT ${wholeColumns.join(", ")} FROM runs WHERE id = ?`).raw(),
    findUnplaced: db.prepare("SELECT 1 FROM runs WHERE dotted_order = '' LIMIT 1").raw(),
    insertPayload: db.prepare(
      "INSERT OR IGNORE INTO payloads (trace_id, id, digest, body, checksum) VALUES (?, ?, ?, CAST(? AS TEXT), ?)",
    ),
    insertAttachment: db.prepare(
      `INSERT OR REPLACE INTO attachments (trace_id, id, name, content_type, bytes, checksum)
         VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    insertShare: db.prepare(
      `INSERT INTO shares (digest, sealed, trace_id, id)
       VALUES (?1, seal_token(?2, ${tokenOwners.run("?4")}), ?3, ?4)`,
    ),
    findShare: db
      .prepare(
        `SELECT ${openedToken("sealed", tokenOwners.run("id"))} FROM shares WHERE trace_id = ? AND id = ?`,
      )
      .raw(),
    deleteShare: db.prepare("DELETE FROM shares WHERE id = ?"),
    moves: runTables.map((table) => db.prepare(`UPDATE ${table} SET trace_id = ? WHERE id = ?`)),
  };
}
