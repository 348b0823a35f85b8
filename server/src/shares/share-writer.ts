import { projectQueries } from "../projects/project-queries.ts";
import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { Database } from "../storage/query.ts";
import { digestToken, decryptToken, readToken, tokenOwner } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type { SharedThread, ShareWrites } from "./share.ts";
import { shareQueries } from "./share-queries.ts";

/** Creates and deletes shares of whole traces and threads. */
export class ShareWriter implements ShareWrites {
  readonly #db: Database;
  readonly #tokens: TokenCipher;

  constructor(db: Database, tokenCipher: TokenCipher) {
    this.#db = db;
    this.#tokens = tokenCipher;
  }

  async shareTrace(tenantId: string, rootId: string): Promise<string> {
    const root = await this.#db.first(shareQueries.findRoot, { id: rootId, tenantId });
    if (root === undefined) {
      throw new RequestError(404, "Run not found");
    }
    const { id, trace_id: traceId } = root;
    const owner = tokenOwner.trace(id);
    const existingShare = await this.#db.first(shareQueries.findTrace, { traceId, id });
    if (existingShare !== undefined) {
      return this.#decrypt(existingShare.sealed, owner);
    }
    const { token, ...columns } = this.#createToken(owner);
    await this.#db.run(shareQueries.insertTrace, { ...columns, ...root });
    return token;
  }

  async unshareTrace(tenantId: string, rootId: string): Promise<void> {
    const root = await this.#db.first(shareQueries.findRoot, { id: rootId, tenantId });
    if (root !== undefined) {
      await this.#db.run(shareQueries.deleteTrace, { traceId: root.trace_id, id: root.id });
    }
  }

  async shareThread(tenantId: string, { projectId, threadId }: SharedThread): Promise<string> {
    if (!(await this.#ownsProject(tenantId, projectId))) {
      throw new RequestError(404, "Session not found");
    }
    const threadJson = JSON.stringify(threadId);
    const owner = tokenOwner.thread(projectId, threadJson);
    const existingShare = await this.#db.first(shareQueries.findThread, { projectId, threadJson });
    if (existingShare !== undefined) {
      return this.#decrypt(existingShare.sealed, owner);
    }
    const { token, ...columns } = this.#createToken(owner);
    await this.#db.run(shareQueries.insertThread, {
      ...columns,
      project_id: projectId,
      thread_json: threadJson,
    });
    return token;
  }

  async unshareThread(tenantId: string, { projectId, threadId }: SharedThread): Promise<void> {
    if (await this.#ownsProject(tenantId, projectId)) {
      const threadJson = JSON.stringify(threadId);
      await this.#db.run(shareQueries.deleteThread, { projectId, threadJson });
    }
  }

  async #ownsProject(tenantId: string, id: string): Promise<boolean> {
    return (await this.#db.first(projectQueries.find, { id, tenantId })) !== undefined;
  }

  /**
   * Decrypts a stored token.
   *
   * @throws RequestError 409: the token can't be decrypted.
   */
  #decrypt(encryptedToken: string, owner: string): string {
    return readToken(decryptToken(this.#tokens, encryptedToken, owner));
  }

  #createToken(owner: string) {
    const token = randomUUID();
    return { token, digest: digestToken(token), sealed: this.#tokens.encrypt(token, owner) };
  }
}
