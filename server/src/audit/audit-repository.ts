import { sql } from "kysely";
import type { AuditActor, AuditEntry, AuditOutcome } from "../model/audit-entry.ts";
import { auditActorKinds } from "../model/audit-entry.ts";
import { createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Database, Parameters } from "../storage/query.ts";
import { auditLimits } from "./audit.ts";
import type { AuditQuery, AuditReads, AuditWrites } from "./audit.ts";

/**
 * SQL that creates the table of the audit log. `actor` is the id of a key, or the name of another actor. Entries are
 * only added, and deleted once they expire: a trigger refuses to change one.
 */
export const auditTables = `
  CREATE TABLE audit_entries (
    tenant_id TEXT NOT NULL, at_us INTEGER NOT NULL, id TEXT NOT NULL, actor_kind TEXT NOT NULL, actor TEXT NOT NULL,
    actor_name_json TEXT NOT NULL, address TEXT, action TEXT NOT NULL, target_json TEXT NOT NULL,
    outcome TEXT NOT NULL, status INTEGER, request_id TEXT,
    PRIMARY KEY (id)
  ) WITHOUT ROWID;
  CREATE INDEX audit_entries_of_tenants ON audit_entries (tenant_id, at_us, id);
  CREATE INDEX audit_entries_latest ON audit_entries (at_us, id);
  CREATE TRIGGER audit_entries_are_final BEFORE UPDATE ON audit_entries BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log can not be changed');
  END;
`;

interface AuditRow {
  readonly tenant_id: string;
  readonly at_us: number;
  readonly id: string;
  readonly actor_kind: string;
  readonly actor: string;
  readonly actor_name_json: string;
  readonly address: string | null;
  readonly action: string;
  readonly target_json: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly request_id: string | null;
}

const builder = createQueryBuilder<{ readonly audit_entries: AuditRow }>();

/** The filters of a list of entries, and its page. Each filter that is given adds a condition. */
interface ListValues {
  readonly tenantId?: string | undefined;
  readonly actorKind?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly outcome?: string | undefined;
  readonly fromMicros?: number | undefined;
  readonly toMicros?: number | undefined;
  readonly afterMicros?: number | undefined;
  readonly afterId?: string | undefined;
  readonly limit: number;
}

/** The queries of the audit log whose conditions are fixed. `listForms` builds the queries that list entries. */
export const auditQueries = {
  insert: new Query((row: Parameters<AuditRow>) =>
    builder
      .insertInto("audit_entries")
      .values({
        tenant_id: row.tenant_id,
        at_us: row.at_us,
        id: row.id,
        actor_kind: row.actor_kind,
        actor: row.actor,
        actor_name_json: row.actor_name_json,
        address: row.address,
        action: row.action,
        target_json: row.target_json,
        outcome: row.outcome,
        status: row.status,
        request_id: row.request_id,
      })
      .onConflict((conflict) => conflict.column("id").doNothing()),
  ),
  removeExpired: new Query(
    ({ beforeMicros, limit }: Parameters<{ beforeMicros: number; limit: number }>) =>
      builder
        .deleteFrom("audit_entries")
        .where("id", "in", (expired) =>
          expired
            .selectFrom("audit_entries")
            .select("id")
            .where("at_us", "<", beforeMicros)
            .orderBy("at_us")
            .limit(limit),
        ),
  ),
};

const listForms = new QueryForms((values: Parameters<ListValues>) => {
  let query = builder.selectFrom("audit_entries").selectAll();
  const { tenantId, actorKind, actor, action, outcome, fromMicros, toMicros } = values;
  const { afterMicros, afterId } = values;
  query = tenantId === undefined ? query : query.where("tenant_id", "=", tenantId);
  query = actorKind === undefined ? query : query.where("actor_kind", "=", actorKind);
  query = actor === undefined ? query : query.where("actor", "=", actor);
  query = action === undefined ? query : query.where("action", "=", action);
  query = outcome === undefined ? query : query.where("outcome", "=", outcome);
  query = fromMicros === undefined ? query : query.where("at_us", ">=", fromMicros);
  query = toMicros === undefined ? query : query.where("at_us", "<", toMicros);
  query =
    afterMicros === undefined || afterId === undefined
      ? query
      : query.where(sql<boolean>`(at_us, id) < (${afterMicros}, ${afterId})`);
  return query.orderBy("at_us", "desc").orderBy("id", "desc").limit(values.limit);
});

export class AuditRepository implements AuditReads, AuditWrites {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(_tenantId: string, query: AuditQuery): Promise<readonly AuditEntry[]> {
    const { after, actor, ...conditions } = query;
    const isKind = (auditActorKinds as readonly string[]).includes(actor ?? "");
    const values: ListValues = {
      ...conditions,
      actorKind: isKind ? actor : undefined,
      actor: isKind ? undefined : actor,
      afterMicros: after?.atMicros,
      afterId: after?.id,
    };
    return (await this.#db.all(listForms.select(values), values)).map(parseRow);
  }

  async record(tenantId: string, entry: AuditEntry): Promise<void> {
    await this.#db.run(auditQueries.insert, toRow(tenantId, entry));
  }

  removeExpired(beforeMicros: number): Promise<number> {
    return this.#db.run(auditQueries.removeExpired, {
      beforeMicros,
      limit: auditLimits.prunedPerStep,
    });
  }
}

const toRow = (tenantId: string, entry: AuditEntry): AuditRow => ({
  tenant_id: tenantId,
  at_us: entry.atMicros,
  id: entry.id,
  actor_kind: entry.actor.kind,
  actor: entry.actor.id ?? entry.actor.name ?? "",
  actor_name_json: JSON.stringify(entry.actor.name),
  address: entry.address,
  action: entry.action,
  target_json: JSON.stringify(entry.target),
  outcome: entry.outcome,
  status: entry.status,
  request_id: entry.requestId,
});

const parseRow = (row: AuditRow): AuditEntry => ({
  id: row.id,
  tenantId: row.tenant_id,
  atMicros: row.at_us,
  actor: parseActor(row),
  address: row.address,
  action: row.action,
  target: String(JSON.parse(row.target_json)),
  outcome: row.outcome as AuditOutcome,
  status: row.status,
  requestId: row.request_id,
});

function parseActor(row: AuditRow): AuditActor {
  const name: unknown = JSON.parse(row.actor_name_json);
  switch (row.actor_kind) {
    case "key":
      return { kind: "key", id: row.actor, name: String(name) };
    case "option":
    case "command":
      return { kind: row.actor_kind, id: null, name: String(name) };
    default:
      return { kind: "open", id: null, name: null };
  }
}
