import { createPayloadBytesSql } from "../payload-bytes.ts";
import type { Promised } from "../promised.ts";
import type {
  MeasuredRuns,
  ProjectUse,
  StorageReads,
  StorageUse,
  TenantRuns,
} from "../storage-use.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

type PromisedStorageReads = Promised<{ readonly storage: StorageReads }>["storage"];

/** Maximum number of attachments that are measured, and of runs that are counted for each project. */
const maxAttachments = 10_000;
const maxRuns = 100_000;

/** Measures the size of the stored data. Except for `countRuns`, the effort is bounded, however much data there is. */
export class PostgresStorageSizeReader implements PromisedStorageReads {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** PostgreSQL does not report how much of its files is free, so `freeBytes` is 0. */
  async measure(tenantId: string): Promise<StorageUse> {
    const { rows } = await this.#db.query<{ readonly bytes: number }>(
      "SELECT pg_database_size(current_database()) AS bytes",
    );
    const counts: { readonly count: number; readonly bytes: number }[] = [];
    for (const table of ["attachments", "example_blobs"]) {
      const { rows: tallies } = await this.#db.query<{
        readonly count: number;
        readonly bytes: number;
      }>(
        `SELECT count(*) AS count, coalesce(sum(octet_length(bytes)), 0) AS bytes
         FROM (SELECT bytes FROM ${table} WHERE tenant_id = $1 LIMIT ${maxAttachments}) a`,
        [tenantId],
      );
      counts.push(tallies[0] ?? { count: 0, bytes: 0 });
    }
    return {
      databaseBytes: rows[0]?.bytes ?? 0,
      freeBytes: 0,
      attachments: {
        count: counts.reduce((sum, { count }) => sum + count, 0),
        bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
        isComplete: counts.every(({ count }) => count < maxAttachments),
      },
    };
  }

  /** Each run has one row in `run_keys`; the query reads only the index of that table. */
  async countRuns(): Promise<readonly TenantRuns[]> {
    const { rows } = await this.#db.query<{ readonly tenant_id: string; readonly runs: number }>(
      "SELECT tenant_id, count(*) AS runs FROM run_keys GROUP BY tenant_id",
    );
    return rows.map(({ tenant_id: tenantId, runs }) => ({ tenantId, runs }));
  }

  /** The sizes of payloads are in the headers of their rows, so their contents are not read. */
  async measureRuns({
    after,
    limit,
  }: {
    readonly after: string | null;
    readonly limit: number;
  }): Promise<MeasuredRuns> {
    const [afterTenant, afterId] =
      after === null ? ["", ""] : (JSON.parse(after) as readonly [string, string]);
    const { rows } = await this.#db.query<{
      readonly tenant_id: string;
      readonly bytes: number;
      readonly last: string;
      readonly runs: number;
    }>(
      `SELECT k.tenant_id, sum(p.bytes + a.bytes)::bigint AS bytes, max(k.id) AS last, count(*) AS runs
       FROM (SELECT tenant_id, id, trace_id, root_us FROM run_keys WHERE (tenant_id, id) > ($1, $2)
           ORDER BY tenant_id, id LIMIT $3::int) k,
         LATERAL (SELECT coalesce(sum(${createPayloadBytesSql("s")}), 0) AS bytes FROM payloads s
           WHERE tenant_id = k.tenant_id AND root_us = k.root_us AND trace_id = k.trace_id AND id = k.id) p,
         LATERAL (SELECT coalesce(sum(octet_length(bytes)), 0) AS bytes FROM attachments
           WHERE tenant_id = k.tenant_id AND root_us = k.root_us AND trace_id = k.trace_id AND id = k.id) a
       GROUP BY 1 ORDER BY 1`,
      [afterTenant, afterId, limit],
    );
    const lastRow = rows.at(-1);
    const count = rows.reduce((sum, { runs }) => sum + runs, 0);
    return {
      tenants: rows.map(({ tenant_id: tenantId, bytes }) => ({ tenantId, bytes })),
      next:
        lastRow === undefined || count < limit
          ? null
          : JSON.stringify([lastRow.tenant_id, lastRow.last]),
    };
  }

  async listProjects(
    tenantId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<readonly ProjectUse[]> {
    const { rows } = await this.#db.query<{
      readonly id: string;
      readonly name_json: string;
      readonly count: number;
      readonly oldest: number | null;
    }>(
      `SELECT p.id, p.name_json,
         (SELECT count(*) FROM (SELECT 1 FROM runs r WHERE r.tenant_id = $1 AND r.project_id = p.id LIMIT ${maxRuns}) c) AS count,
         (SELECT min(r.start_us) FROM runs r WHERE r.tenant_id = $1 AND r.project_id = p.id) AS oldest
       FROM (SELECT id, name_json FROM projects WHERE tenant_id = $1 ORDER BY name_json LIMIT $2::int OFFSET $3::int) p
       ORDER BY p.name_json`,
      [tenantId, limit, offset],
    );
    return rows.map(({ id, name_json: json, count, oldest }) => ({
      projectId: id,
      name: String(JSON.parse(json)),
      count,
      isComplete: count < maxRuns,
      oldestMicros: oldest,
    }));
  }
}
