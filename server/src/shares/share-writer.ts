import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { SharedThread, ShareWrites } from "./share.ts";
import { digestToken, readToken } from "../storage/share-token.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { idIn } from "../storage/sqlite/tenant-keys.ts";
import {
  openedToken,
  tokenOwners,
  toShareToken,
} from "../storage/sqlite/token-keys.ts";

/** Creates and deletes shares of whole traces and threads. */
export class ShareWriter implements ShareWrites {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      findRoot: db
        .prepare(
          `SELECT r.trace_id, r.id FROM runs r JOIN projects p ON p.id = r.project_id
           WHERE r.id = ? AND r.parent_run_id IS NULL AND r.trace_id = ${idIn("r.id")} AND p.tenant_id = ?`,
        )
        .raw(),
      findTrace: db
        .prepare(
          `SELECT ${openedToken("sealed", tokenOwners.trace("id"))} FROM trace_shares WHERE trace_id = ? AND id = ?`,
        )
        .raw(),
      insertTrace: db.prepare(
        `INSERT INTO trace_shares (digest, sealed, trace_id, id)
         VALUES (?1, seal_token(?2, ${tokenOwners.trace("?4")}), ?3, ?4)`,
      ),
      deleteTrace: db.prepare("DELETE FROM trace_shares WHERE trace_id = ? AND id = ?"),
      findProject: db.prepare("SELECT 1 FROM projects WHERE id = ? AND tenant_id = ?").raw(),
      findThread: db
        .prepare(
          `SELECT ${openedToken("sealed", tokenOwners.thread("project_id", "thread_json"))} FROM thread_shares
           WHERE project_id = ? AND thread_json = ?`,
        )
        .raw(),
      insertThread: db.prepare(
        `INSERT INTO thread_shares (digest, sealed, project_id, thread_json)
         VALUES (?1, seal_token(?2, ${tokenOwners.thread("?3", "?4")}), ?3, ?4)`,
      ),
      deleteThread: db.prepare(
        "DELETE FROM thread_shares WHERE project_id = ? AND thread_json = ?",
      ),
    };
  }

  shareTrace(tenantId: string, rootId: string): string {
    const { findTrace, insertTrace } = this.#statements;
    const root = this.#findRoot(tenantId, rootId);
    if (root === undefined) {
      throw new RequestError(404, "Run not found");
    }
    return shareOnce(parseRows(findTrace.all(root)), (token) =>
      insertTrace.run([digestToken(token), token, ...root]),
    );
  }

  unshareTrace(tenantId: string, rootId: string): void {
    const root = this.#findRoot(tenantId, rootId);
    if (root !== undefined) {
      this.#statements.deleteTrace.run(root);
    }
  }

  shareThread(tenantId: string, { projectId, threadId }: SharedThread): string {
    const { findThread, insertThread } = this.#statements;
    if (!this.#ownsProject(tenantId, projectId)) {
      throw new RequestError(404, "Session not found");
    }
    const thread = [projectId, JSON.stringify(threadId)];
    return shareOnce(parseRows(findThread.all(thread)), (token) =>
      insertThread.run([digestToken(token), token, ...thread]),
    );
  }

  unshareThread(tenantId: string, { projectId, threadId }: SharedThread): void {
    if (this.#ownsProject(tenantId, projectId)) {
      this.#statements.deleteThread.run([projectId, JSON.stringify(threadId)]);
    }
  }

  #ownsProject(tenantId: string, projectId: string): boolean {
    return this.#statements.findProject.all([projectId, tenantId]).length > 0;
  }

  /** Returns the trace id and the key of a root run. */
  #findRoot(tenantId: string, id: string): [string, string] | undefined {
    const [values] = parseRows(this.#statements.findRoot.all([id, tenantId]));
    return values === undefined ? undefined : [String(values[0]), String(values[1])];
  }
}

/**
 * Returns the token of the existing row, or creates one.
 *
 * @throws RequestError 409: there is a token that can't be decrypted.
 */
function shareOnce(
  found: readonly (readonly unknown[])[],
  insert: (token: string) => void,
): string {
  const existing = readToken(toShareToken(found[0]?.[0]));
  if (existing !== null) {
    return existing;
  }
  const token = randomUUID();
  insert(token);
  return token;
}
