import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { dividePayload, encodeParts, readRest } from "./divide-payload.ts";
import type { DividedPayload, NewText } from "./divide-payload.ts";
import type { ShareableText } from "./shareable-text.ts";

const textType = 'TEXT COLLATE "C"';
const tenantColumn = `tenant_id ${textType} NOT NULL DEFAULT current_setting('millrace.tenant')`;

/** The JSON that is returned in place of a payload whose shared texts are not all stored. */
const damagedPayloadJson = JSON.stringify(
  Object.fromEntries(
    ["inputs", "outputs"].map((name) => [
      name,
      { millrace_damaged: "damaged: a text that this run shares with others is missing" },
    ]),
  ),
);

/**
 * SQL that creates the tables of texts that payloads of a tenant share, and the column of `payloads` that describes how
 * a payload is assembled (`encodeParts`). The column is NULL for a payload that is stored as a whole.
 *
 * - `shared_texts` has the texts by their hashes. `base` is the hash of the text that a text continues.
 * - `shared_text_uses` has a row for each payload, by its `seq`, and each text that it refers to. Counting the uses in
 *   the row of a text would make all transactions that store runs with the same system prompt wait for each other.
 * - `shared_text_candidates` lists the texts of payloads that were deleted. Only these can have become unused.
 *
 * Triggers maintain the last two tables, so that statements need not do so when they delete payloads or move them to
 * another partition.
 */
export const sharedTextTables = `
  CREATE TABLE shared_texts (
    ${tenantColumn}, hash ${textType} NOT NULL, base ${textType}, depth INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (tenant_id, hash)
  );
  CREATE INDEX shared_texts_by_base ON shared_texts (tenant_id, base) WHERE base IS NOT NULL;
  DO $$
    BEGIN
      ALTER TABLE shared_texts ALTER COLUMN body SET COMPRESSION lz4;
    EXCEPTION WHEN feature_not_supported THEN
      NULL;
    END $$;
  CREATE TABLE shared_text_uses (
    ${tenantColumn}, hash ${textType} NOT NULL, seq BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, hash, seq)
  );
  CREATE TABLE shared_text_candidates (
    ${tenantColumn}, id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hash ${textType} NOT NULL
  );
  ALTER TABLE payloads ADD COLUMN parts ${textType};
  CREATE FUNCTION list_shared_texts(parts TEXT) RETURNS SETOF TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT DISTINCT p.part ->> 2 FROM jsonb_array_elements(parts::jsonb) p (part)
      WHERE jsonb_typeof(p.part) = 'array' AND p.part ->> 2 IS NOT NULL $$;
  CREATE FUNCTION add_shared_text_uses() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO shared_text_uses (tenant_id, hash, seq)
        SELECT NEW.tenant_id, t.hash, NEW.seq FROM list_shared_texts(NEW.parts) t (hash) ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
  CREATE FUNCTION remove_shared_text_uses() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM shared_text_uses
        WHERE tenant_id = OLD.tenant_id AND hash IN (SELECT list_shared_texts(OLD.parts)) AND seq = OLD.seq;
      INSERT INTO shared_text_candidates (tenant_id, hash)
        SELECT OLD.tenant_id, t.hash FROM list_shared_texts(OLD.parts) t (hash);
      RETURN NULL;
    END $$;
  CREATE TRIGGER shared_texts_of_new AFTER INSERT ON payloads FOR EACH ROW WHEN (NEW.parts IS NOT NULL)
    EXECUTE FUNCTION add_shared_text_uses();
  CREATE TRIGGER shared_texts_of_deleted AFTER DELETE ON payloads FOR EACH ROW WHEN (OLD.parts IS NOT NULL)
    EXECUTE FUNCTION remove_shared_text_uses();
  CREATE FUNCTION join_payload(tenant TEXT, body TEXT, parts TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    WITH RECURSIVE part AS (
      SELECT p.place, p.part ->> 2 AS hash,
        substr(convert_to(body, 'UTF8'), (p.part ->> 0)::int + 1, (p.part ->> 1)::int) AS rest
      FROM jsonb_array_elements(parts::jsonb) WITH ORDINALITY p (part, place) WHERE jsonb_typeof(p.part) = 'array'
    ), chain AS (
      SELECT part.place, 0 AS depth, t.base, t.body FROM part
        JOIN shared_texts t ON t.tenant_id = tenant AND t.hash = part.hash COLLATE "C"
      UNION ALL
      SELECT c.place, c.depth + 1, t.base, t.body FROM chain c
        JOIN shared_texts t ON t.tenant_id = tenant AND t.hash = c.base COLLATE "C"
    ), joined AS (
      SELECT string_agg(s.body, '' ORDER BY s.place, s.is_text, s.depth DESC) AS body FROM (
        SELECT place, 0 AS is_text, 0 AS depth, convert_from(rest, 'UTF8') AS body FROM part
        UNION ALL SELECT place, 1, depth, body FROM chain) s
    )
    SELECT CASE octet_length(joined.body) WHEN (parts::jsonb ->> 0)::int THEN joined.body ELSE '${damagedPayloadJson}' END FROM joined
  $$;
`;

/**
 * SQL that removes the rows of `shared_text_uses` for payloads of a week that retention removed (`expired-weeks.ts`),
 * as the trigger does for payloads that are deleted one by one.
 *
 * @param range - the rows of the payloads, as a subquery
 */
export const forgetSharedTextsSql = (range: string): string => `
  WITH uses AS MATERIALIZED (SELECT c.tenant_id, c.seq, list_shared_texts(c.parts) COLLATE "C" AS hash
      FROM ${range} c WHERE c.parts IS NOT NULL),
    deleted AS (DELETE FROM shared_text_uses u USING uses s
      WHERE u.tenant_id = s.tenant_id AND u.hash = s.hash AND u.seq = s.seq)
  INSERT INTO shared_text_candidates (tenant_id, hash) SELECT DISTINCT s.tenant_id, s.hash FROM uses s`;

/** SQL for the text of a payload, assembled from the texts that it shares with others. */
export const createPayloadTextSql = (alias: string): string =>
  `(CASE WHEN ${alias}.parts IS NULL THEN ${alias}.body ELSE join_payload(${alias}.tenant_id, ${alias}.body, ${alias}.parts) END)`;

/**
 * SQL that describes the parts of a payload for `readSharedRanges`; NULL if the payload is stored as a whole. Each text
 * of a chain is read by its key (`LATERAL` with `LIMIT`): while a table has no statistics, a join would read all texts
 * of the tenant for each link.
 */
export const createSharedRangesSql = (alias: string): string =>
  `(CASE WHEN ${alias}.parts IS NOT NULL THEN (
    WITH RECURSIVE part AS (
      SELECT p.place, (p.part ->> 1)::int AS bytes, p.part ->> 2 AS hash
      FROM jsonb_array_elements(${alias}.parts::jsonb) WITH ORDINALITY p (part, place) WHERE jsonb_typeof(p.part) = 'array'
    ), chain AS (
      SELECT part.place, t.bytes, t.base FROM part CROSS JOIN LATERAL (
        SELECT octet_length(s.body) AS bytes, s.base FROM shared_texts s
        WHERE s.tenant_id = ${alias}.tenant_id AND s.hash = part.hash COLLATE "C" LIMIT 1) t
      UNION ALL
      SELECT c.place, t.bytes, t.base FROM chain c CROSS JOIN LATERAL (
        SELECT octet_length(s.body) AS bytes, s.base FROM shared_texts s
        WHERE s.tenant_id = ${alias}.tenant_id AND s.hash = c.base LIMIT 1) t
    )
    SELECT json_agg(json_build_array(part.bytes, part.hash, c.bytes) ORDER BY part.place)::text
    FROM part LEFT JOIN (SELECT place, sum(bytes) AS bytes FROM chain GROUP BY place) c ON c.place = part.place) END)`;

/**
 * SQL that updates PostgreSQL's statistics of the texts, for a transaction that has written many texts and then reads
 * their payloads. With the statistics of an empty table, the planner would read all texts of the tenant for each link
 * of a chain.
 */
export const analyzeSharedTextsSql = "ANALYZE shared_texts";

/** Maximum number of possibly unused texts that one call examines. */
const candidatesPerStep = 500;

/** Maximum number of attempts to store texts that other transactions store or delete at the same time. */
const maxAttempts = 5;

/** A payload to store, and its texts that may repeat in other payloads. */
export interface SharingPayload {
  readonly body: Uint8Array;
  readonly texts: readonly ShareableText[];
}

export interface StoredPayload {
  readonly body: Uint8Array;
  readonly parts: string | null;
}

/**
 * Stores the texts that payloads share.
 *
 * A text must not be deleted while a transaction stores a payload that refers to it. The transaction therefore locks
 * the row of the text (`FOR KEY SHARE`, which many transactions can hold at once) before it stores the payload. A
 * transaction that deletes texts locks their rows first, and then searches for uses with a new statement, which finds
 * the uses of all transactions that held a lock before. If a transaction waits for the lock of a text and the text is
 * then deleted, the transaction gets no row and stores the text again.
 */
export class PostgresSharedTexts {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Stores the shared texts of payloads. Returns the payloads without these texts, as they are to be stored. */
  async store(
    tenantId: string,
    payloads: readonly SharingPayload[],
  ): Promise<readonly StoredPayload[]> {
    if (payloads.every(({ texts }) => texts.length === 0)) {
      return payloads.map(({ body }) => ({ body, parts: null }));
    }
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const depths = await this.#findStored(tenantId, payloads);
      const storedHashes = new Set(depths.keys());
      const divided = payloads.map(({ body, texts }) => dividePayload(body.length, texts, depths));
      if (await this.#lockTexts(tenantId, listReferredTexts(divided, storedHashes))) {
        await this.#insertTexts(tenantId, payloads, divided);
        return payloads.map(({ body }, index) => toStored(body, divided[index]));
      }
    }
    // Other transactions delete the texts again and again, so the payloads are stored as a whole.
    return payloads.map(({ body }) => ({ body, parts: null }));
  }

  /**
   * Deletes some of the texts that are no longer used, of the tenants whose rows the transaction sees. Returns the
   * number of candidates that were examined; 0 if there are none, or if other transactions use all of them.
   */
  async deleteUnused(): Promise<number> {
    const { rows: candidates } = await this.#db.query<TextKey>(
      `DELETE FROM shared_text_candidates WHERE id IN (
         SELECT id FROM shared_text_candidates ORDER BY id LIMIT ${candidatesPerStep} FOR UPDATE SKIP LOCKED)
       RETURNING tenant_id, hash`,
    );
    if (candidates.length === 0) {
      return 0;
    }
    // The texts that a deleted text continues may have become unused, too.
    const { rows: examined } = await this.#db.query<TextKey>(
      `WITH RECURSIVE chain AS (
         SELECT t.tenant_id, t.hash, t.base FROM shared_texts t WHERE (t.tenant_id, t.hash) IN (${keysSql})
         UNION SELECT t.tenant_id, t.hash, t.base FROM chain c
           JOIN shared_texts t ON t.tenant_id = c.tenant_id AND t.hash = c.base
       ) SELECT tenant_id, hash FROM chain`,
      toLists(candidates),
    );
    const { rows: locked } = await this.#db.query<TextKey>(
      `SELECT t.tenant_id, t.hash FROM shared_texts t WHERE (t.tenant_id, t.hash) IN (${keysSql})
       ORDER BY t.tenant_id, t.hash FOR UPDATE SKIP LOCKED`,
      toLists(examined),
    );
    await this.#db.query(
      `WITH RECURSIVE locked AS (${keysSql}), kept AS (
         SELECT l.tenant_id, l.hash FROM locked l
         WHERE EXISTS (SELECT 1 FROM shared_text_uses u WHERE u.tenant_id = l.tenant_id AND u.hash = l.hash)
           OR EXISTS (SELECT 1 FROM shared_texts c WHERE c.tenant_id = l.tenant_id AND c.base = l.hash
             AND (c.tenant_id, c.hash) NOT IN (SELECT * FROM locked))
         UNION SELECT t.tenant_id, t.base FROM kept k
           JOIN shared_texts t ON t.tenant_id = k.tenant_id AND t.hash = k.hash WHERE t.base IS NOT NULL
       )
       DELETE FROM shared_texts t
       WHERE (t.tenant_id, t.hash) IN (SELECT * FROM locked) AND (t.tenant_id, t.hash) NOT IN (SELECT * FROM kept)`,
      toLists(locked),
    );
    // Another transaction is about to use the skipped texts. They are listed again, in case it fails.
    const lockedKeys = new Set(locked.map(toKey));
    const skipped = examined.filter((text) => !lockedKeys.has(toKey(text)));
    if (skipped.length > 0) {
      await this.#db.query(
        `INSERT INTO shared_text_candidates (tenant_id, hash) ${keysSql}`,
        toLists(skipped),
      );
    }
    // If all texts were skipped, the next sweep examines them.
    return skipped.length > 0 && locked.length === 0 ? 0 : candidates.length;
  }

  /**
   * Finds which texts of the payloads, and which beginnings of these texts, are stored already. Returns the depth of
   * each of them (see `NewText`) by its hash.
   */
  async #findStored(
    tenantId: string,
    payloads: readonly SharingPayload[],
  ): Promise<Map<string, number>> {
    const hashes = new Set(payloads.flatMap(({ texts }) => texts.flatMap((one) => one.hashes)));
    const { rows } = await this.#db.query<{ readonly hash: string; readonly depth: number }>(
      "SELECT hash, depth FROM shared_texts WHERE tenant_id = $1 AND hash = ANY($2::text[])",
      [tenantId, [...hashes]],
    );
    return new Map(rows.map(({ hash, depth }) => [hash, depth]));
  }

  /** Locks texts until the end of the transaction. Returns whether all of them are stored. */
  async #lockTexts(tenantId: string, hashes: readonly string[]): Promise<boolean> {
    if (hashes.length === 0) {
      return true;
    }
    const { rows } = await this.#db.query(
      `SELECT hash FROM shared_texts WHERE tenant_id = $1 AND hash = ANY($2::text[])
       ORDER BY hash FOR KEY SHARE`,
      [tenantId, hashes],
    );
    return rows.length === hashes.length;
  }

  /**
   * Inserts new texts. The order of their hashes determines the order of the locks, so that transactions can't
   * deadlock. A text that another transaction has inserted meanwhile is locked instead, even if that transaction has
   * divided the text differently.
   */
  async #insertTexts(
    tenantId: string,
    payloads: readonly SharingPayload[],
    divided: readonly (DividedPayload | undefined)[],
  ): Promise<void> {
    let missing = divided
      .flatMap((one, index) =>
        (one?.added ?? []).map((added) => ({
          added,
          body: payloads[index]?.body.subarray(added.start, added.end) ?? noBytes,
        })),
      )
      .toSorted((one, other) => (one.added.hash < other.added.hash ? -1 : 1));
    for (let attempt = 0; missing.length > 0; attempt += 1) {
      if (attempt === maxAttempts) {
        throw new Error(
          `shared texts could not be stored: other transactions deleted them during each of ${maxAttempts} attempts`,
        );
      }
      const inserted = await this.#insertMissing(tenantId, missing);
      const existing = missing.filter(({ added }) => !inserted.has(added.hash));
      missing = (await this.#lockTexts(
        tenantId,
        existing.map(({ added }) => added.hash),
      ))
        ? []
        : existing;
    }
  }

  async #insertMissing(
    tenantId: string,
    texts: readonly { readonly added: NewText; readonly body: Uint8Array }[],
  ): Promise<ReadonlySet<string>> {
    const starts: number[] = [];
    let bytes = 0;
    for (const { body } of texts) {
      starts.push(bytes + 1);
      bytes += body.length;
    }
    const { rows } = await this.#db.query<{ readonly hash: string }>(
      `INSERT INTO shared_texts (tenant_id, hash, base, depth, body)
       SELECT $1, i.hash, i.base, i.depth, convert_from(substr($7::bytea, i.start, i.length), 'UTF8')
       FROM unnest($2::text[], $3::text[], $4::int[], $5::int[], $6::int[]) WITH ORDINALITY
         i (hash, base, depth, start, length, place)
       ORDER BY i.place ON CONFLICT DO NOTHING RETURNING hash`,
      [
        tenantId,
        texts.map(({ added }) => added.hash),
        texts.map(({ added }) => added.base ?? null),
        texts.map(({ added }) => added.depth),
        starts,
        texts.map(({ body }) => body.length),
        Buffer.concat(texts.map(({ body }) => body)),
      ],
    );
    return new Set(rows.map(({ hash }) => hash));
  }
}

/** The keys of texts. The parameters are those of {@link toLists}. */
const keysSql = `SELECT k.tenant_id COLLATE "C" AS tenant_id, k.hash COLLATE "C" AS hash
  FROM unnest($1::text[], $2::text[]) k (tenant_id, hash)`;

interface TextKey {
  readonly tenant_id: string;
  readonly hash: string;
}

const toKey = ({ tenant_id: tenantId, hash }: TextKey): string => `${tenantId} ${hash}`;

const toLists = (keys: readonly TextKey[]): readonly (readonly string[])[] => [
  keys.map(({ tenant_id: tenantId }) => tenantId),
  keys.map(({ hash }) => hash),
];

const noBytes = new Uint8Array(0);

/** Lists the stored texts to which payloads and new texts refer. */
const listReferredTexts = (
  divided: readonly (DividedPayload | undefined)[],
  storedHashes: ReadonlySet<string>,
): readonly string[] => [
  ...new Set(
    divided
      .flatMap((one) => [
        ...(one?.parts ?? []).map(({ hash }) => hash),
        ...(one?.added ?? []).map(({ base }) => base),
      ])
      .filter((hash): hash is string => hash !== undefined && storedHashes.has(hash)),
  ),
];

const toStored = (body: Uint8Array, divided: DividedPayload | undefined): StoredPayload =>
  divided === undefined
    ? { body, parts: null }
    : {
        body: readRest(body, divided),
        parts: encodeParts(divided, body.length, (hash) => hash),
      };
