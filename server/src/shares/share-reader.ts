import type { ShareReads, SharedScope, SharedThread } from "./share.ts";
import { digestToken } from "../storage/share-token.ts";
import type { ShareToken } from "../storage/share-token.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { idIn } from "../storage/sqlite/tenant-keys.ts";
import {
  openedToken,
  tokenOwners,
  toShareToken,
} from "../storage/sqlite/token-keys.ts";

/**
 * The run `r` of a share `s` of a whole trace, as long as the run is the trace's root. If the run was later moved
 * below another run, its token must not give access to the trace that it is part of now.
 */
export const rootOfShare = `trace_shares s JOIN runs r ON r.trace_id = s.trace_id AND r.id = s.id
  AND r.parent_run_id IS NULL AND r.trace_id = ${idIn("r.id")}`;

/** Queries shares. */
export class ShareReader implements ShareReads {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      find: db
        .prepare(
          `SELECT 'run', p.tenant_id, r.id, NULL FROM shares s JOIN runs r ON r.trace_id = s.trace_id AND r.id = s.id
             JOIN projects p ON p.id = r.project_id WHERE s.digest = ?1
           UNION ALL SELECT 'trace', p.tenant_id, r.trace_id, NULL FROM ${rootOfShare}
             JOIN projects p ON p.id = r.project_id WHERE s.digest = ?1
           UNION ALL SELECT 'thread', p.tenant_id, p.id, s.thread_json FROM thread_shares s
             JOIN projects p ON p.id = s.project_id WHERE s.digest = ?1`,
        )
        .raw(),
      findTraceTokens: db
        .prepare(
          `SELECT r.id, ${openedToken("s.sealed", tokenOwners.trace("s.id"))} FROM ${rootOfShare}
           JOIN projects p ON p.id = r.project_id
           WHERE p.tenant_id = ?1
             AND (s.trace_id, s.id) IN (SELECT ${idIn("value")}, value FROM json_each(?2))`,
        )
        .raw(),
      findThreadToken: db
        .prepare(
          `SELECT ${openedToken("s.sealed", tokenOwners.thread("s.project_id", "s.thread_json"))}
           FROM thread_shares s JOIN projects p ON p.id = s.project_id
           WHERE p.tenant_id = ? AND s.project_id = ? AND s.thread_json = ?`,
        )
        .raw(),
    };
  }

  find(token: string): SharedScope | undefined {
    const [values] = parseRows(this.#statements.find.all([digestToken(token)]));
    return values === undefined ? undefined : toScope(values);
  }

  findTraceTokens(tenantId: string, rootIds: readonly string[]): ReadonlyMap<string, ShareToken> {
    const rows = parseRows(
      this.#statements.findTraceTokens.all([tenantId, JSON.stringify(rootIds)]),
    );
    return new Map(rows.map(([id, token]) => [String(id), toShareToken(token)]));
  }

  findThreadToken(tenantId: string, { projectId, threadId }: SharedThread): ShareToken {
    const values = [tenantId, projectId, JSON.stringify(threadId)];
    return toShareToken(parseRows(this.#statements.findThreadToken.all(values))[0]?.[0]);
  }
}

function toScope([kind, owner, id, threadJson]: readonly unknown[]): SharedScope {
  const tenantId = String(owner);
  switch (kind) {
    case "run":
      return { kind, tenantId, runId: String(id) };
    case "trace":
      return { kind, tenantId, traceId: String(id) };
    default:
      return {
        kind: "thread",
        tenantId,
        projectId: String(id),
        threadId: String(JSON.parse(String(threadJson))),
      };
  }
}
