import type { ProjectUse, StorageReads, StorageUse } from "../storage-use.ts";
import { parseRows } from "./rows.ts";
import type { Connection } from "./connection.ts";

/** Attachments that are measured, and runs of a project that are counted: a few milliseconds each. */
const attachmentsMax = 10_000;
const runsMax = 100_000;

/** Measures what the store holds, within bounds, however much that is. */
export class StorageReader implements StorageReads {
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection) {
    this.#statements = prepareStatements(db);
  }

  use(tenantId: string): StorageUse {
    const { pages, ofRuns, ofExamples } = this.#statements;
    const [[count, size, free] = []] = parseRows(pages.all());
    const files = [ofRuns, ofExamples].map((statement) => {
      const [[found, bytes, seen] = []] = parseRows(statement.all([tenantId, attachmentsMax]));
      return { count: Number(found), bytes: Number(bytes), seen: Number(seen) };
    });
    return {
      databaseBytes: Number(count) * Number(size),
      freeBytes: Number(free) * Number(size),
      attachments: {
        count: files.reduce((sum, one) => sum + one.count, 0),
        bytes: files.reduce((sum, one) => sum + one.bytes, 0),
        isComplete: files.every((one) => one.seen < attachmentsMax),
      },
    };
  }

  projects(
    tenantId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): readonly ProjectUse[] {
    const rows = parseRows(this.#statements.projects.all([tenantId, limit, offset]));
    return rows.map(([id, name]) => {
      const [[found] = []] = parseRows(this.#statements.countRuns.all([id, runsMax]));
      const [oldest] = parseRows(this.#statements.oldest.all([id]));
      return {
        projectId: String(id),
        name: String(JSON.parse(String(name))),
        count: Number(found),
        isComplete: Number(found) < runsMax,
        oldestMicros: oldest === undefined ? null : Number(oldest[0]),
      };
    });
  }
}

function prepareStatements(db: Connection) {
  return {
    pages: db
      .prepare(
        `SELECT (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size),
           (SELECT freelist_count FROM pragma_freelist_count)`,
      )
      .raw(),
    ofRuns: db
      .prepare(
        `SELECT total(p.tenant_id = ?1), total(CASE p.tenant_id WHEN ?1 THEN a.size END), count(*)
         FROM (SELECT trace_id, id, length(bytes) AS size FROM attachments LIMIT ?2) a
           CROSS JOIN runs r ON r.trace_id = a.trace_id AND r.id = a.id
           CROSS JOIN projects p ON p.id = r.project_id`,
      )
      .raw(),
    ofExamples: db
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
    oldest: db
      .prepare("SELECT start_us FROM runs WHERE project_id = ? ORDER BY start_us LIMIT 1")
      .raw(),
  };
}
