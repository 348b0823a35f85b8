import { sql } from "kysely";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Database, Parameters } from "../storage/query.ts";

/** Reads how many bytes tenants have sent in a day. */
export interface IngestCountReads {
  /** Reads the bytes of runs, spans and feedback that a tenant has sent on a day in UTC, such as `2026-11-26`. */
  read(tenantId: string, day: string): Promise<number>;
}

/** Writes how many bytes tenants have sent in a day. */
export interface IngestCountWrites {
  /**
   * Stores how many bytes of a tenant one server has counted on a day. Returns the sum of the counts of all servers.
   * Repeating a call changes nothing, so a caller that does not know whether a call took effect may repeat it.
   */
  set(tenantId: string, day: string, count: ServerIngest): Promise<number>;
}

/** The bytes that one server has received from a tenant on a day. */
export interface ServerIngest {
  /** Identifies the process of the server: after a restart, the server has a new id. */
  readonly server: string;
  readonly bytes: number;
}

/**
 * SQL that creates the table with the bytes that each tenant has sent on a day. Each server has a row of its own, whose
 * `day` is the day, a slash and the server: `2026-11-26/5d2c…`. Rows of earlier versions have no server.
 */
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

type DayParameters = Parameters<{ tenantId: string; day: string; beforeDay: string }>;

/** The queries of the bytes that tenants have sent in a day. */
export const ingestCountQueries = {
  sum: new Query(({ tenantId, day, beforeDay }: DayParameters) =>
    builder
      .selectFrom("ingest_counts")
      .select(sql<number>`coalesce(sum(bytes), 0)`.as("bytes"))
      .where("tenant_id", "=", tenantId)
      .where("day", ">=", day)
      .where("day", "<", beforeDay),
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
    const range = { tenantId, day, beforeDay: `${day}${afterSlash}` };
    return (await this.#db.first(ingestCountQueries.sum, range))?.bytes ?? 0;
  }

  async set(tenantId: string, day: string, { server, bytes }: ServerIngest): Promise<number> {
    const row = { tenant_id: tenantId, day: `${day}/${server}`, bytes };
    await this.#db.run(ingestCountQueries.set, row);
    await this.#db.run(ingestCountQueries.removeEarlier, { tenantId, day });
    return this.read(tenantId, day);
  }
}

/**
 * The character that follows the slash in the order of texts. All texts that begin with a day and a slash sort before
 * the day followed by this character.
 */
const afterSlash = "0";
