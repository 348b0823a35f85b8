import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Database, Parameters } from "../storage/query.ts";

export interface IngestCountReads {
  /** Reads the bytes of runs, spans and feedback that a tenant has sent on a day in UTC, such as `2026-11-26`. */
  read(tenantId: string, day: string): Promise<number>;
}

export interface IngestCountWrites {
  /**
   * Adds bytes that a tenant has sent on a day to a server. Returns the bytes of that day that all servers of the
   * database have counted.
   */
  add(tenantId: string, day: string, bytes: number): Promise<number>;
}

/** SQL that creates the table with the bytes that each tenant has sent on a day. */
export const ingestCountTables = `
  CREATE TABLE ingest_counts (
    tenant_id TEXT NOT NULL, day TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (tenant_id, day)
  ) WITHOUT ROWID;
`;

/** Like {@link ingestCountTables}, for PostgreSQL. */
export const postgresIngestCountTables = `
  CREATE TABLE ingest_counts (
    tenant_id TEXT COLLATE "C" NOT NULL, day TEXT COLLATE "C" NOT NULL, bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, day)
  );
`;

interface CountRow {
  readonly tenant_id: string;
  readonly day: string;
  readonly bytes: number;
}

const builder = createQueryBuilder<{ readonly ingest_counts: CountRow }>();

export const ingestCountQueries = {
  find: new Query(({ tenantId, day }: Parameters<{ tenantId: string; day: string }>) =>
    builder
      .selectFrom("ingest_counts")
      .select("bytes")
      .where("tenant_id", "=", tenantId)
      .where("day", "=", day),
  ),
  set: new Query(({ tenant_id, day, bytes }: Parameters<CountRow>) =>
    builder
      .insertInto("ingest_counts")
      .values({ tenant_id, day, bytes })
      .onConflict((conflict) => conflict.columns(["tenant_id", "day"]).doUpdateSet({ bytes })),
  ),
  removeEarlier: new Query(({ tenantId, day }: Parameters<{ tenantId: string; day: string }>) =>
    builder.deleteFrom("ingest_counts").where("tenant_id", "=", tenantId).where("day", "<", day),
  ),
};

/** Reads and writes how much each tenant has sent. Only the latest day of a tenant is kept. */
export class IngestCountRepository implements IngestCountReads, IngestCountWrites {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async read(tenantId: string, day: string): Promise<number> {
    return (await this.#db.first(ingestCountQueries.find, { tenantId, day }))?.bytes ?? 0;
  }

  async add(tenantId: string, day: string, bytes: number): Promise<number> {
    const total = (await this.read(tenantId, day)) + bytes;
    await this.#db.run(ingestCountQueries.set, { tenant_id: tenantId, day, bytes: total });
    await this.#db.run(ingestCountQueries.removeEarlier, { tenantId, day });
    return total;
  }
}
