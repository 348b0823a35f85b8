import { projectQueries } from "../projects/project-queries.ts";
import type { Database, RowOf } from "../storage/query.ts";
import { idOf } from "../storage/row-keys.ts";
import { digestToken, decryptToken, tokenOwner } from "../storage/share-token.ts";
import type { ShareToken, TokenCipher } from "../storage/share-token.ts";
import type { ShareReads, SharedScope, SharedThread } from "./share.ts";
import { shareQueries } from "./share-queries.ts";

/** Finds what a share token gives access to, and the tokens of shared traces and threads. */
export class ShareReader implements ShareReads {
  readonly #db: Database;
  readonly #tokens: TokenCipher;

  constructor(db: Database, tokenCipher: TokenCipher) {
    this.#db = db;
    this.#tokens = tokenCipher;
  }

  async find(token: string): Promise<SharedScope | undefined> {
    const row = await this.#db.first(shareQueries.find, { digest: digestToken(token) });
    return row === undefined ? undefined : parseScope(row);
  }

  async findTraceTokens(
    tenantId: string,
    rootIds: readonly string[],
  ): Promise<ReadonlyMap<string, ShareToken>> {
    const rows = await this.#db.all(shareQueries.listTraces, {
      tenantId,
      traceIds: JSON.stringify(rootIds.map(idOf)),
      ids: JSON.stringify(rootIds),
    });
    return new Map(
      rows.map(({ id, sealed }) => [id, decryptToken(this.#tokens, sealed, tokenOwner.trace(id))]),
    );
  }

  async findThreadToken(
    tenantId: string,
    { projectId, threadId }: SharedThread,
  ): Promise<ShareToken> {
    const threadJson = JSON.stringify(threadId);
    const project = await this.#db.first(projectQueries.find, { id: projectId, tenantId });
    const row =
      project && (await this.#db.first(shareQueries.findThread, { projectId, threadJson }));
    return row === undefined
      ? null
      : decryptToken(this.#tokens, row.sealed, tokenOwner.thread(projectId, threadJson));
  }
}

function parseScope(row: RowOf<typeof shareQueries.find>): SharedScope {
  const { kind, tenant_id: tenantId, id } = row;
  switch (kind) {
    case "run":
      return { kind, tenantId, runId: id };
    case "trace":
      return { kind, tenantId, traceId: id };
    case "thread": {
      const threadId = String(JSON.parse(String(row.thread_json)));
      return { kind, tenantId, projectId: id, threadId };
    }
  }
}
