import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { dividePayload, encodeParts, readRest } from "./divide-payload.ts";
import type { DividedPayload } from "./divide-payload.ts";
import type { ShareableText } from "./shareable-text.ts";

/**
 * SQL that creates the table of texts that payloads of a tenant share, and the column of `payloads` that describes how
 * a payload is assembled (`encodeParts`). The column is NULL for a payload that is stored as a whole.
 *
 * `uses` is the number of payloads and of texts that refer to a text. Some time after it has become 0, the text is
 * deleted; until then, a new payload may refer to it again. A trigger subtracts deleted payloads, so that statements
 * that delete payloads need not do so.
 */
export const sharedTextTables = `
  CREATE TABLE shared_texts (
    id INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, hash TEXT NOT NULL, base INTEGER, depth INTEGER NOT NULL,
    uses INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (tenant_id, hash)
  );
  CREATE INDEX unused_shared_texts ON shared_texts (id) WHERE uses = 0;
  ALTER TABLE payloads ADD COLUMN parts TEXT;
  CREATE TRIGGER shared_texts_of_deleted AFTER DELETE ON payloads WHEN OLD.parts IS NOT NULL
    BEGIN
      UPDATE shared_texts SET uses = uses - 1
        WHERE id IN (SELECT value ->> 2 FROM json_each(OLD.parts) WHERE type = 'array');
    END;
`;

/** SQL for the text of the payload `p`, assembled from the texts that it shares with others. */
export const payloadTextSql = `CASE WHEN p.parts IS NULL THEN p.body ELSE (
  WITH RECURSIVE
    part (place, rest, text) AS (
      SELECT j.key, CAST(substr(CAST(p.body AS BLOB), (j.value ->> 0) + 1, j.value ->> 1) AS TEXT), j.value ->> 2
      FROM json_each(p.parts) j WHERE j.type = 'array'),
    chain (place, depth, base, body) AS (
      SELECT part.place, 0, t.base, t.body FROM part JOIN shared_texts t ON t.id = part.text
      UNION ALL
      SELECT c.place, c.depth + 1, t.base, t.body FROM chain c JOIN shared_texts t ON t.id = c.base)
  SELECT group_concat(s.body, '') FROM (
    SELECT place, 0 AS is_text, 0 AS depth, rest AS body FROM part
    UNION ALL SELECT place, 1, depth, body FROM chain
    ORDER BY 1, 2, 3 DESC) s) END`;

/** SQL that describes the parts of the payload `p` for `readSharedRanges`; NULL if the payload is stored as a whole. */
export const sharedRangesSql = `CASE WHEN p.parts IS NOT NULL THEN (
  WITH RECURSIVE
    part (place, bytes, text) AS (
      SELECT j.key, j.value ->> 1, j.value ->> 2 FROM json_each(p.parts) j WHERE j.type = 'array'),
    chain (place, hash, bytes, base) AS (
      SELECT part.place, t.hash, octet_length(t.body), t.base FROM part JOIN shared_texts t ON t.id = part.text
      UNION ALL
      SELECT c.place, c.hash, octet_length(t.body), t.base FROM chain c JOIN shared_texts t ON t.id = c.base)
  SELECT json_group_array(json_array(s.bytes, s.hash, s.text_bytes)) FROM (
    SELECT part.bytes, max(c.hash) AS hash, sum(c.bytes) AS text_bytes
    FROM part LEFT JOIN chain c ON c.place = part.place GROUP BY part.place ORDER BY part.place) s) END`;

/** Maximum number of texts that one call deletes, and of their bytes. The last text may exceed the bytes. */
const textsPerStep = 500;
const bytesPerStep = 8 * 1_048_576;

interface Payload {
  readonly traceId: string;
  readonly id: string;
  readonly digest: string;
  readonly body: Uint8Array;
  readonly checksum: number;
}

/** Stores payloads that share texts with others. The caller controls the transaction. */
export class SqliteSharedTexts {
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection) {
    this.#statements = prepareStatements(db);
  }

  /**
   * Inserts a payload. Its texts that are stored already, or that may repeat, are stored in a table of their own.
   * Returns whether the payload is new.
   */
  insertPayload(tenantId: string, payload: Payload, texts: readonly ShareableText[]): boolean {
    const { traceId, id, digest, body, checksum } = payload;
    const { stored, depths } = this.#findStored(tenantId, texts);
    const divided = dividePayload(body.length, texts, depths);
    if (divided === undefined) {
      const values = [traceId, id, digest, body, checksum, null];
      return this.#statements.insertPayload.run(values).changes > 0;
    }
    this.#insertTexts(tenantId, { body, divided, stored });
    const parts = encodeParts(divided, body.length, (hash) => stored.get(hash) ?? 0);
    const values = [traceId, id, digest, readRest(body, divided), checksum, parts];
    const isNew = this.#statements.insertPayload.run(values).changes > 0;
    if (isNew) {
      this.#statements.countUses.run([parts]);
    }
    return isNew;
  }

  /** Deletes some of the texts that are no longer used. Returns their number. */
  deleteUnused(): number {
    const { listUnused, deleteText, releaseBase } = this.#statements;
    let deleted = 0;
    let bytes = 0;
    while (deleted < textsPerStep && bytes < bytesPerStep) {
      // Search again after each deletion: the text that the deleted one continued may be unused now.
      const [row] = parseRows(listUnused.all());
      if (row === undefined) {
        break;
      }
      const [id, base, size] = row;
      deleteText.run([id]);
      releaseBase.run([base]);
      deleted += 1;
      bytes += Number(size);
    }
    return deleted;
  }

  /** Finds the stored texts among the texts of a payload and their beginnings. */
  #findStored(tenantId: string, texts: readonly ShareableText[]) {
    const stored = new Map<string, number>();
    const depths = new Map<string, number>();
    const hashes = JSON.stringify(texts.flatMap((text) => text.hashes));
    for (const [hash, id, depth] of parseRows(this.#statements.find.all([tenantId, hashes]))) {
      stored.set(String(hash), Number(id));
      depths.set(String(hash), Number(depth));
    }
    return { stored, depths };
  }

  #insertTexts(
    tenantId: string,
    {
      body,
      divided: { added },
      stored,
    }: {
      readonly body: Uint8Array;
      readonly divided: DividedPayload;
      /** The ids of the stored texts by their hashes. Those of the inserted texts are added. */
      readonly stored: Map<string, number>;
    },
  ): void {
    for (const { hash, base, depth, start, end } of added) {
      const baseId = base === undefined ? null : stored.get(base);
      const values = [tenantId, hash, baseId, depth, body.subarray(start, end)];
      stored.set(hash, this.#statements.insertText.run(values).lastInsertRowid);
      if (baseId !== null) {
        this.#statements.countBase.run([baseId]);
      }
    }
  }
}

const prepareStatements = (db: Connection) => ({
  find: db
    .prepare(
      `SELECT hash, id, depth FROM shared_texts
       WHERE tenant_id = ? AND hash IN (SELECT value FROM json_each(?))`,
    )
    .raw(),
  insertText: db.prepare(
    "INSERT INTO shared_texts (tenant_id, hash, base, depth, uses, body) VALUES (?, ?, ?, ?, 0, CAST(? AS TEXT))",
  ),
  countBase: db.prepare("UPDATE shared_texts SET uses = uses + 1 WHERE id = ?"),
  releaseBase: db.prepare("UPDATE shared_texts SET uses = uses - 1 WHERE id = ?"),
  // Counts the same texts as the trigger subtracts when the payload is deleted.
  countUses: db.prepare(
    `UPDATE shared_texts SET uses = uses + 1
     WHERE id IN (SELECT value ->> 2 FROM json_each(?) WHERE type = 'array')`,
  ),
  insertPayload: db.prepare(
    `INSERT OR IGNORE INTO payloads (trace_id, id, digest, body, checksum, parts)
     VALUES (?, ?, ?, CAST(? AS TEXT), ?, ?)`,
  ),
  listUnused: db
    .prepare("SELECT id, base, octet_length(body) FROM shared_texts WHERE uses = 0 LIMIT 1")
    .raw(),
  deleteText: db.prepare("DELETE FROM shared_texts WHERE id = ?"),
});
