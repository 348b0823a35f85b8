import { payloadBytesSql } from "../payload-bytes.ts";
import type {
  MeasuredRuns,
  ProjectUse,
  StorageReads,
  StorageUse,
  TenantRuns,
} from "../storage-use.ts";
import { withinDeadlineSql } from "./query-clock.ts";
import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/**
 * Maximum number of attachments that are measured, and of runs that are counted for each project. Measuring or counting
 * up to either limit takes a few milliseconds.
 */
const maxAttachments = 10_000;
const maxRuns = 100_000;

/** Measures the size of the stored data. Except for `countRuns`, the effort is bounded, however much data there is. */
export class StorageSizeReader implements StorageReads {
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection) {
    this.#statements = prepareStatements(db);
  }

  measure(tenantId: string): StorageUse {
    const { pages, runAttachments, exampleAttachments } = this.#statements;
    const [[pageCount, size, free] = []] = parseRows(pages.all());
    const attachmentCounts = [runAttachments, exampleAttachments].map((statement) => {
      const [[count, bytes, scanned] = []] = parseRows(statement.all([tenantId, maxAttachments]));
      return { count: Number(count), bytes: Number(bytes), scanned: Number(scanned) };
    });
    return {
      databaseBytes: Number(pageCount) * Number(size),
      freeBytes: Number(free) * Number(size),
      attachments: {
        count: attachmentCounts.reduce((sum, tally) => sum + tally.count, 0),
        bytes: attachmentCounts.reduce((sum, tally) => sum + tally.bytes, 0),
        isComplete: attachmentCounts.every((tally) => tally.scanned < maxAttachments),
      },
    };
  }

  countRuns(): readonly TenantRuns[] {
    return parseRows(this.#statements.runsOfTenants.all()).map(([tenantId, runs]) => ({
      tenantId: String(tenantId),
      runs: Number(runs),
    }));
  }

  measureRuns({
    after,
    limit,
  }: {
    readonly after: string | null;
    readonly limit: number;
  }): MeasuredRuns {
    const rows = parseRows(
      this.#statements.runBytes.all([after === null ? -1 : Number(after), limit]),
    );
    const count = rows.reduce((sum, [, , , runs]) => sum + Number(runs), 0);
    const lastKey = rows.reduce((row, [, , lastRow]) => Math.max(row, Number(lastRow)), -1);
    return {
      tenants: rows.flatMap(([tenantId, bytes]) =>
        typeof tenantId === "string" ? [{ tenantId, bytes: Number(bytes) }] : [],
      ),
      next: count < limit ? null : String(lastKey),
    };
  }

  listProjects(
    tenantId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): readonly ProjectUse[] {
    const rows = parseRows(this.#statements.projects.all([tenantId, limit, offset]));
    return rows.map(([id, name]) => {
      const [[count] = []] = parseRows(this.#statements.countRuns.all([id, maxRuns]));
      const [oldestStart] = parseRows(this.#statements.oldestStart.all([id]));
      return {
        projectId: String(id),
        name: String(JSON.parse(String(name))),
        count: Number(count),
        isComplete: Number(count) < maxRuns,
        oldestMicros: oldestStart === undefined ? null : Number(oldestStart[0]),
      };
    });
  }
}

function prepareStatements(db: Connection) {
  return {
    // The table has a row for each project and block of time, not for each run.
    runsOfTenants: db
      .prepare(
        `SELECT p.tenant_id, sum(c.runs) FROM run_counts c JOIN projects p ON p.id = c.project_id
          GROUP BY p.tenant_id`,
      )
      .raw(),
    // The sizes of texts and blobs are in the headers of their rows, so their contents are not read.
    runBytes: db
      .prepare(
        `SELECT p.tenant_id, total(s.bytes), max(s.row), count(*) FROM (
           SELECT r.rowid AS row, r.project_id,
             (SELECT total(${payloadBytesSql}) FROM payloads p WHERE p.trace_id = r.trace_id AND p.id = r.id)
             + (SELECT total(length(a.bytes)) FROM attachments a WHERE a.trace_id = r.trace_id AND a.id = r.id) AS bytes
           FROM runs r WHERE r.rowid > ?1 AND ${withinDeadlineSql("r.rowid")} ORDER BY r.rowid LIMIT ?2) s
         LEFT JOIN projects p ON p.id = s.project_id GROUP BY 1`,
      )
      .raw(),
    pages: db
      .prepare(
        `SELECT (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size),
           (SELECT freelist_count FROM pragma_freelist_count)`,
      )
      .raw(),
    runAttachments: db
      .prepare(
        `SELECT total(p.tenant_id = ?1), total(CASE p.tenant_id WHEN ?1 THEN a.size END), count(*)
         FROM (SELECT trace_id, id, length(bytes) AS size FROM attachments LIMIT ?2) a
           CROSS JOIN runs r ON r.trace_id = a.trace_id AND r.id = a.id
           CROSS JOIN projects p ON p.id = r.project_id`,
      )
      .raw(),
    exampleAttachments: db
      .prepare(
        `SELECT total(tenant_id = ?1), total(CASE tenant_id WHEN ?1 THEN size END), count(*)
         FROM (SELECT tenant_id, length(bytes) AS size FROM example_blobs LIMIT ?2)`,
      )
      .raw(),
    projects: db
      .prepare(
        "SELECT id, name_json FROM projects WHERE tenant_id = ? ORDER BY name_json LIMIT ? OFFSET ?",
      )
      .raw(),
    countRuns: db
      .prepare("SELECT count(*) FROM (SELECT 1 FROM runs WHERE project_id = ? LIMIT ?)")
      .raw(),
    oldestStart: db
      .prepare("SELECT start_us FROM runs WHERE project_id = ? ORDER BY start_us LIMIT 1")
      .raw(),
  };
}
