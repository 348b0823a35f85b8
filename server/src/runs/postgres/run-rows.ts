import { encodeText } from "../../storage/postgres/text-encoding.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { blockMicros, listThreadIds } from "../facets.ts";
import type { AttachmentRecord, RunRecord } from "../run-record.ts";
import { readRootMicros } from "./batch-merger.ts";
import type { MergedRun, StoredState } from "./batch-merger.ts";
import {
  createPayloadTextSql,
  PostgresSharedTexts,
} from "../shared-texts/postgres-shared-texts.ts";
import type { SharingPayload } from "../shared-texts/postgres-shared-texts.ts";
import { deleteRowsOfRuns } from "./rows-of-runs.ts";
import { createDocument } from "./payload-document.ts";
import { createPlaceSql } from "./run-places.ts";
import {
  listColumnValues,
  parseRow,
  parseUsage,
  runColumnNames,
  runColumnTypes,
} from "./run-columns.ts";
import type { RunColumnValues, StoredUsage } from "./run-columns.ts";
import type { StoredSpan } from "./batch-spans.ts";

/** The columns that identify the row of a run, in addition to its tenant and id. */
export interface RunKey {
  readonly rootMicros: number;
  readonly traceId: string;
}

export type RunKeys = ReadonlyMap<string, RunKey>;

/** A merged run with its usage. */
export interface RunChange extends MergedRun {
  readonly usage: StoredUsage | undefined;
}

/** A payload of a run. */
export interface StoredBody {
  readonly isPatch: boolean;
  readonly body: Uint8Array;
}

interface BatchInput {
  /** The keys of the runs that were locked as new. */
  readonly newKeys: RunKeys;
  readonly bodies: Uint8Array;
}

/** Reads and writes the rows of the runs of a batch, with one statement per table for all runs. */
export class RunRows {
  readonly #db: PostgresDatabase;
  readonly #sharedTexts: PostgresSharedTexts;
  /** Facets that are known to be stored as suggestions for their project, so that they need not be inserted again. */
  readonly #knownFacets = new Set<string>();
  #knownSinceMs = 0;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#sharedTexts = new PostgresSharedTexts(db);
  }

  /**
   * Locks traces of spans until the end of the transaction. Traces share some locks, because a transaction can't hold
   * thousands of them.
   */
  async lockTraces(tenantId: string, traceIds: readonly string[]): Promise<void> {
    if (traceIds.length > 0) {
      await this.#db.query(
        `SELECT pg_advisory_xact_lock(hashtext('millrace.spans'), h.lock) FROM (
           SELECT DISTINCT abs(hashtext($1::text || t.id) % ${traceLocks}) AS lock FROM unnest($2::text[]) t (id) ORDER BY 1) h`,
        [tenantId, traceIds],
      );
    }
  }

  /**
   * Locks the runs of a batch until the end of the transaction. Returns the keys of all of them, and separately the
   * keys of the new ones. Another transaction with the same run waits, whether the run is stored or not.
   */
  async lockRuns(
    tenantId: string,
    {
      records,
      otherIds,
      fileOwners,
      nowMicros,
    }: {
      readonly records: readonly RunRecord[];
      /** Further runs that the batch may change or create. */
      readonly otherIds: readonly string[];
      readonly fileOwners: readonly string[];
      readonly nowMicros: number;
    },
  ): Promise<{ readonly keys: RunKeys; readonly newKeys: Map<string, RunKey> }> {
    const keys = new Map<string, RunKey>(
      otherIds.map((id) => [id, { rootMicros: nowMicros, traceId: id }]),
    );
    for (const { id, traceId, dottedOrder } of records) {
      if (!keys.has(id)) {
        keys.set(id, {
          rootMicros: readRootMicros(dottedOrder ?? "") ?? nowMicros,
          traceId: dottedOrder?.slice(stampLength, stampLength + uuidLength) ?? traceId ?? id,
        });
      }
    }
    // All transactions insert in the order of the ids, so that they can't deadlock.
    const ids = [...keys.keys()].toSorted();
    const newKeys = new Map<string, RunKey>();
    let missing: readonly string[] = ids;
    for (let attempt = 0; missing.length > 0; attempt += 1) {
      if (attempt === maxLockAttempts) {
        throw new Error(
          `runs of a batch could not be locked: other transactions deleted them during each of ${maxLockAttempts} attempts`,
        );
      }
      const inserted = await this.#insertKeys(tenantId, missing, keys);
      inserted.forEach((id) =>
        newKeys.set(id, keys.get(id) ?? { rootMicros: nowMicros, traceId: id }),
      );
      const existing = [...missing.filter((id) => !newKeys.has(id)), ...fileOwners];
      const locked = await this.#lockExisting(tenantId, existing);
      // A run that was deleted between the two statements is new after all.
      missing = missing.filter((id) => !newKeys.has(id) && !locked.has(id));
    }
    return { keys, newKeys };
  }

  /**
   * Prepares the ids of removed runs for new runs. Retention removes a whole week of runs at once. It deletes their
   * keys and the rows that belong to them later, so this method deletes these rows now. The caller holds the locks of
   * the keys.
   */
  async renewKeys(tenantId: string, ids: readonly string[], keys: RunKeys): Promise<void> {
    if (ids.length === 0) {
      return;
    }
    await deleteRowsOfRuns(this.#db, tenantId, ids);
    await this.#db.query(
      `UPDATE run_keys k SET root_us = i.root_us, trace_id = i.trace_id
       FROM unnest($2::text[], $3::bigint[], $4::text[]) i (id, root_us, trace_id) WHERE k.tenant_id = $1 AND k.id = i.id`,
      [
        tenantId,
        ids,
        ids.map((id) => keys.get(id)?.rootMicros),
        ids.map((id) => keys.get(id)?.traceId),
      ],
    );
  }

  async #insertKeys(
    tenantId: string,
    ids: readonly string[],
    keys: RunKeys,
  ): Promise<readonly string[]> {
    const { rows } = await this.#db.query<{ readonly id: string }>(
      `INSERT INTO run_keys (tenant_id, id, root_us, trace_id)
       SELECT $1, i.id, i.root_us, i.trace_id FROM unnest($2::text[], $3::bigint[], $4::text[]) i (id, root_us, trace_id)
       ORDER BY i.id ON CONFLICT DO NOTHING RETURNING id`,
      [
        tenantId,
        ids,
        ids.map((id) => keys.get(id)?.rootMicros),
        ids.map((id) => keys.get(id)?.traceId),
      ],
    );
    return rows.map(({ id }) => id);
  }

  async #lockExisting(tenantId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) {
      return new Set();
    }
    const { rows } = await this.#db.query<{ readonly id: string }>(
      'SELECT id FROM run_keys WHERE tenant_id = $1 AND id = ANY($2::text[]) ORDER BY id COLLATE "C" FOR UPDATE',
      [tenantId, ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Locks runs that may be stored, and reads those that are. */
  async lockStored(
    tenantId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, StoredState>> {
    await this.#lockExisting(tenantId, ids);
    return this.readStored(tenantId, ids);
  }

  /** Deletes the rows of `run_keys` that were inserted to lock new runs, if these runs were not stored after all. */
  async deleteKeys(tenantId: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) {
      await this.#db.query("DELETE FROM run_keys WHERE tenant_id = $1 AND id = ANY($2::text[])", [
        tenantId,
        ids,
      ]);
    }
  }

  async readStored(
    tenantId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, StoredState>> {
    if (ids.length === 0) {
      return new Map();
    }
    const { rows } = await this.#db.query<RunColumnValues & { readonly facets: readonly string[] }>(
      `SELECT ${runColumnNames.map((name) => `r.${name}`).join(", ")}, r.facets FROM run_keys k
       JOIN runs r ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
       WHERE k.tenant_id = $1 AND k.id = ANY($2::text[])`,
      [tenantId, ids],
    );
    return new Map(
      rows.map((row) => [
        row.id,
        {
          row: parseRow(row),
          rootMicros: row.root_us,
          usage: parseUsage(row),
          facets: row.facets,
        },
      ]),
    );
  }

  /** Returns the digests of those patches of a batch that are stored already, by the id of the run. */
  async readDigests(
    tenantId: string,
    stored: ReadonlyMap<string, StoredState>,
    records: readonly RunRecord[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const patches = records.filter(({ operation, id }) => operation === "patch" && stored.has(id));
    const digests = new Map<string, Set<string>>();
    if (patches.length === 0) {
      return digests;
    }
    const runs = [...new Set(patches.map(({ id }) => id))].flatMap((id) => stored.get(id) ?? []);
    const { rows } = await this.#db.query<{ readonly id: string; readonly digest: string }>(
      `SELECT p.id, p.digest FROM ${payloadJoin} WHERE p.digest = ANY($5::text[])`,
      [tenantId, ...toKeyLists(runs), patches.map(({ digest }) => digest)],
    );
    for (const { id, digest } of rows) {
      digests.set(id, (digests.get(id) ?? new Set()).add(digest));
    }
    return digests;
  }

  /** Reads the payloads of runs, in the order in which they arrived. */
  async readBodies(
    tenantId: string,
    runs: readonly StoredState[],
  ): Promise<ReadonlyMap<string, readonly StoredBody[]>> {
    const bodies = new Map<string, StoredBody[]>();
    if (runs.length === 0) {
      return bodies;
    }
    const { rows } = await this.#db.query<{
      readonly id: string;
      readonly digest: string;
      readonly body: string;
    }>(
      `SELECT p.id, p.digest, ${createPayloadTextSql("p")} AS body FROM ${payloadJoin} ORDER BY p.seq`,
      [tenantId, ...toKeyLists(runs)],
    );
    for (const { id, digest, body } of rows) {
      const list = bodies.get(id) ?? [];
      bodies.set(id, list);
      list.push({ isPatch: digest !== "", body: Buffer.from(body) });
    }
    return bodies;
  }

  async writeChanges(
    tenantId: string,
    changes: readonly RunChange[],
    batch: BatchInput,
  ): Promise<void> {
    const added = changes.filter(({ stored }) => stored === undefined);
    const updated = changes.filter(({ stored }) => stored !== undefined);
    // Update first, because a run that gets another id frees its own id for a new run.
    await this.#updateRuns(tenantId, updated);
    await this.#moveRuns(tenantId, changes, batch.newKeys);
    await this.#insertMissingKeys(tenantId, added, batch.newKeys);
    await this.#insertRuns(tenantId, added);
    await this.#insertPayloads(tenantId, changes, batch.bodies);
    await this.#insertFacets(tenantId, changes);
    await this.#updateThreads(tenantId, changes);
  }

  async #insertRuns(tenantId: string, changes: readonly RunChange[]): Promise<void> {
    if (changes.length > 0) {
      await this.#db.query(insertRunsSql, [tenantId, ...toColumnLists(changes)]);
    }
  }

  async #updateRuns(tenantId: string, changes: readonly RunChange[]): Promise<void> {
    if (changes.length > 0) {
      await this.#db.query(updateRunsSql, [
        tenantId,
        ...toColumnLists(changes),
        changes.map(({ stored }) => stored?.rootMicros),
        changes.map(({ stored }) => stored?.row.traceId),
        changes.map(({ stored }) => stored?.row.id),
      ]);
    }
  }

  /** Inserts the keys of runs that were created without being locked: placeholders in traces of spans. */
  async #insertMissingKeys(
    tenantId: string,
    added: readonly RunChange[],
    newKeys: RunKeys,
  ): Promise<void> {
    const missing = new Map(
      added
        .filter(({ id }) => !newKeys.has(id))
        .map(({ id, rootMicros, row }) => [id, { rootMicros, traceId: row.traceId }]),
    );
    if (missing.size === 0) {
      return;
    }
    const ids = [...missing.keys()].toSorted();
    const inserted = new Set(await this.#insertKeys(tenantId, ids, missing));
    const existing = ids.filter((id) => !inserted.has(id));
    const stored = await this.lockStored(tenantId, existing);
    if (stored.size > 0) {
      throw new StoredMeanwhileError();
    }
    await this.renewKeys(tenantId, existing, missing);
  }

  async readSpans(tenantId: string, traceIds: readonly string[]): Promise<readonly StoredSpan[]> {
    const { rows } = await this.#db.query<{
      readonly trace_id: string;
      readonly id: string;
      readonly parent_id: string | null;
      readonly kind: StoredSpan["span"]["kind"];
      readonly has_project: number;
      readonly run_id: string;
    }>(
      `SELECT trace_id, id, parent_id, kind, has_project, run_id FROM spans
       WHERE tenant_id = $1 AND trace_id = ANY($2::text[]) ORDER BY trace_id, id`,
      [tenantId, traceIds],
    );
    return rows.map((row) => ({
      span: { traceId: row.trace_id, id: row.id, parentId: row.parent_id, kind: row.kind },
      hasProject: row.has_project === 1,
      runId: row.run_id,
    }));
  }

  async writeSpans(tenantId: string, spans: readonly StoredSpan[]): Promise<void> {
    if (spans.length > 0) {
      await this.#db.query(
        `INSERT INTO spans (tenant_id, trace_id, id, parent_id, kind, has_project, run_id)
         SELECT $1, i.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[]) i
         ON CONFLICT (tenant_id, trace_id, id) DO UPDATE SET parent_id = excluded.parent_id, kind = excluded.kind,
           has_project = excluded.has_project, run_id = excluded.run_id`,
        [
          tenantId,
          spans.map(({ span }) => span.traceId),
          spans.map(({ span }) => span.id),
          spans.map(({ span }) => span.parentId),
          spans.map(({ span }) => span.kind),
          spans.map(({ hasProject }) => (hasProject ? 1 : 0)),
          spans.map(({ runId }) => runId),
        ],
      );
    }
  }

  /** Deletes placeholders, except those that have runs below them. */
  async deletePlaceholders(tenantId: string, placeholders: readonly StoredState[]): Promise<void> {
    for (const { row, rootMicros } of placeholders) {
      const { count } = await this.#db.query(
        `DELETE FROM runs r WHERE r.tenant_id = $1 AND r.trace_id = $2 AND r.id = $3 AND r.root_us = $4::bigint
           AND NOT EXISTS (SELECT 1 FROM runs c
             WHERE c.tenant_id = $1 AND c.trace_id = $2 AND c.parent_run_id = $3)`,
        [tenantId, row.traceId, row.id, rootMicros],
      );
      await this.deleteKeys(tenantId, count > 0 ? [row.id] : []);
    }
  }

  /**
   * Moves what belongs to runs whose key has changed: until the dotted order of a run arrives, its trace and the start
   * of its root are only assumed.
   */
  async #moveRuns(
    tenantId: string,
    changes: readonly RunChange[],
    newKeys: RunKeys,
  ): Promise<void> {
    const moved = changes.flatMap(({ id, stored, row, rootMicros }) => {
      const from = stored
        ? {
            rootMicros: stored.rootMicros,
            traceId: stored.row.traceId,
            id: stored.row.id,
          }
        : toKeyWithId(id, newKeys.get(id));
      return from !== undefined &&
        (from.rootMicros !== rootMicros || from.traceId !== row.traceId || from.id !== id)
        ? [{ id, from, to: { rootMicros, traceId: row.traceId } }]
        : [];
    });
    if (moved.length === 0) {
      return;
    }
    const lists = [
      moved.map(({ id }) => id),
      moved.map(({ to }) => to.rootMicros),
      moved.map(({ to }) => to.traceId),
      moved.map(({ from }) => from.rootMicros),
      moved.map(({ from }) => from.traceId),
      moved.map(({ from }) => from.id),
    ];
    const input = `unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[])
      i (id, root_us, trace_id, old_root_us, old_trace_id, old_id)`;
    // The new id of a run may have been locked for a record of the batch that turned out to belong to another run.
    const renamedIds = moved.flatMap(({ id, from }) => (from.id === id ? [] : [id]));
    await this.deleteKeys(
      tenantId,
      renamedIds.filter((id) => newKeys.has(id)),
    );
    for (const table of ["run_keys", "payloads", "attachments"]) {
      await this.#db.query(
        `UPDATE ${table} t SET root_us = i.root_us, trace_id = i.trace_id, id = i.id FROM ${input}
         WHERE t.tenant_id = $1 AND t.root_us = i.old_root_us AND t.trace_id = i.old_trace_id AND t.id = i.old_id`,
        [tenantId, ...lists],
      );
    }
    for (const table of ["shares", "trace_shares"]) {
      await this.#db.query(
        `UPDATE ${table} t SET trace_id = i.trace_id, id = i.id
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) i (id, trace_id, old_trace_id, old_id)
         WHERE t.tenant_id = $1 AND t.trace_id = i.old_trace_id AND t.id = i.old_id`,
        [tenantId, lists[0], lists[2], lists[4], lists[5]],
      );
    }
  }

  /**
   * Inserts the payloads of all records. Their texts are ranges of one parameter, whose bytes are sent unchanged; the
   * elements of a list parameter would have to be escaped.
   */
  async #insertPayloads(
    tenantId: string,
    changes: readonly RunChange[],
    bodies: Uint8Array,
  ): Promise<void> {
    const payloads = changes.flatMap(({ added, rootMicros, row }) =>
      added.map((record) => ({ record, rootMicros, row })),
    );
    if (payloads.length === 0) {
      return;
    }
    const documents = payloads.map(({ record: { bodyStart, bodyEnd } }) =>
      createDocument(
        Buffer.from(bodies.buffer, bodies.byteOffset + bodyStart, bodyEnd - bodyStart),
      ),
    );
    const isSharing = payloads.some(({ record }) => record.shareable !== undefined);
    const { parts, starts, lengths, bytes } = isSharing
      ? await this.#storeSharedTexts(
          tenantId,
          payloads.map(({ record }, index) => ({
            body: bodies.subarray(record.bodyStart, record.bodyEnd),
            // With a `document`, the payload is stored twice anyway, so sharing its texts would save little.
            texts: documents[index] === null ? (record.shareable ?? []) : [],
          })),
        )
      : toWholePayloads(
          payloads.map(({ record }) => record),
          bodies,
        );
    await this.#db.query(insertPayloadsSql, [
      tenantId,
      payloads.map(({ rootMicros }) => rootMicros),
      payloads.map(({ row }) => row.traceId),
      payloads.map(({ row }) => row.id),
      payloads.map(({ record }) => record.digest),
      documents,
      starts,
      lengths,
      bytes,
      parts,
    ]);
  }

  async #storeSharedTexts(
    tenantId: string,
    payloads: readonly SharingPayload[],
  ): Promise<PayloadBytes> {
    const stored = await this.#sharedTexts.store(tenantId, payloads);
    const starts: number[] = [];
    let bytes = 0;
    for (const { body } of stored) {
      starts.push(bytes + 1);
      bytes += body.length;
    }
    return {
      parts: stored.map(({ parts }) => parts),
      starts,
      lengths: stored.map(({ body }) => body.length),
      bytes: Buffer.concat(stored.map(({ body }) => body)),
    };
  }

  /**
   * Stores the facets of the runs as suggestions for their projects. Most of them are stored already, and are skipped.
   */
  async #insertFacets(tenantId: string, changes: readonly RunChange[]): Promise<void> {
    const nowMs = performance.now();
    if (this.#knownFacets.size > maxKnownFacets || nowMs - this.#knownSinceMs > knownFacetsMs) {
      this.#knownFacets.clear();
      this.#knownSinceMs = nowMs;
    }
    const missing = new Map<string, { readonly projectId: string; readonly facet: string }>();
    const lastProjectByFacets = new Map<ReadonlySet<string>, string>();
    for (const { row, facets } of changes) {
      if (lastProjectByFacets.get(facets) === row.projectId) {
        continue;
      }
      lastProjectByFacets.set(facets, row.projectId);
      for (const facet of facets) {
        const key = `${row.projectId} ${facet}`;
        if (!this.#knownFacets.has(key)) {
          missing.set(key, { projectId: row.projectId, facet: encodeText(facet) });
        }
      }
    }
    if (missing.size === 0) {
      return;
    }
    const values = [...missing.values()];
    await this.#db.query(
      `INSERT INTO run_facets (tenant_id, project_id, facet)
       SELECT $1, i.project_id, i.facet FROM unnest($2::text[], $3::text[]) i (project_id, facet)
       ORDER BY i.project_id COLLATE "C", i.facet COLLATE "C" ON CONFLICT DO NOTHING`,
      [tenantId, values.map(({ projectId }) => projectId), values.map(({ facet }) => facet)],
    );
    for (const key of missing.keys()) {
      this.#knownFacets.add(key);
    }
  }

  /** Records when the threads of the runs were last active. */
  async #updateThreads(tenantId: string, changes: readonly RunChange[]): Promise<void> {
    const threads = new Map<string, { projectId: string; id: string; block: number }>();
    const listIds = memoize(listThreadIds);
    for (const { row, facets } of changes) {
      for (const id of listIds(facets)) {
        const key = `${row.projectId} ${id}`;
        const block = Math.max(
          Math.floor(row.startMicros / blockMicros),
          threads.get(key)?.block ?? -Infinity,
        );
        threads.set(key, { projectId: row.projectId, id: encodeText(id), block });
      }
    }
    if (threads.size === 0) {
      return;
    }
    const values = [...threads.values()];
    await this.#db.query(
      `INSERT INTO threads (tenant_id, project_id, id, last_block)
       SELECT $1, i.project_id, i.id, i.block FROM unnest($2::text[], $3::text[], $4::bigint[]) i (project_id, id, block)
       ORDER BY i.project_id COLLATE "C", i.id COLLATE "C"
       ON CONFLICT (tenant_id, project_id, id) DO UPDATE SET last_block = excluded.last_block
         WHERE threads.last_block < excluded.last_block`,
      [
        tenantId,
        values.map(({ projectId }) => projectId),
        values.map(({ id }) => id),
        values.map(({ block }) => block),
      ],
    );
  }

  /** Stores a file of a run; returns `false` if there is no such run. An earlier file of the same name is replaced. */
  async insertAttachment(
    tenantId: string,
    { runId, name, contentType, bodyStart, bodyEnd }: AttachmentRecord,
    bodies: Uint8Array,
  ): Promise<boolean> {
    const { count } = await this.#db.query(
      `INSERT INTO attachments (tenant_id, root_us, trace_id, id, name, content_type, bytes)
       SELECT k.tenant_id, k.root_us, k.trace_id, k.id, $3::text, $4::text, $5::bytea FROM run_keys k
         WHERE k.tenant_id = $1 AND k.id = $2
       ON CONFLICT (tenant_id, root_us, trace_id, id, name)
         DO UPDATE SET content_type = excluded.content_type, bytes = excluded.bytes`,
      [
        tenantId,
        runId,
        encodeText(name),
        encodeText(contentType),
        bodies.subarray(bodyStart, bodyEnd),
      ],
    );
    return count > 0;
  }

  /** Must be called after a rollback, because the database may no longer contain facets that were added. */
  clearCache(): void {
    this.#knownFacets.clear();
  }
}

/**
 * Another transaction has stored a run that was missing when this one searched for it. The code is PostgreSQL's code
 * for a violated unique key, after which the transaction is repeated.
 */
class StoredMeanwhileError extends Error {
  readonly code = "23505";

  constructor() {
    super("a run was stored by another transaction meanwhile");
  }
}

/** Payloads as ranges of one buffer, and the values of their column `parts`. */
interface PayloadBytes {
  readonly parts: readonly (string | null)[];
  /** Positions in `bytes`, beginning with 1. */
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
  readonly bytes: Uint8Array;
}

/** Returns payloads that share no texts. Their bytes are not copied. */
function toWholePayloads(records: readonly RunRecord[], bodies: Uint8Array): PayloadBytes {
  const from = Math.min(...records.map(({ bodyStart }) => bodyStart));
  const to = Math.max(...records.map(({ bodyEnd }) => bodyEnd));
  return {
    parts: records.map(() => null),
    starts: records.map(({ bodyStart }) => bodyStart - from + 1),
    lengths: records.map(({ bodyStart, bodyEnd }) => bodyEnd - bodyStart),
    bytes: bodies.subarray(from, to),
  };
}

const toKeyWithId = (id: string, key: RunKey | undefined) => key && { id, ...key };

const stampLength = 22;
const uuidLength = 36;

/** Number of locks that all traces of spans share. */
const traceLocks = 512;

/** Maximum number of attempts to lock runs while other transactions delete them. */
const maxLockAttempts = 5;

/** Maximum number of facets in `#knownFacets`. */
const maxKnownFacets = 20_000;

/** Milliseconds after which `#knownFacets` is cleared: another server may have deleted the facets meanwhile. */
const knownFacetsMs = 30_000;

/** The payloads of runs. The parameters are the tenant and the lists of {@link toKeyLists}. */
const payloadJoin = `unnest($2::bigint[], $3::text[], $4::text[]) i (root_us, trace_id, id)
  JOIN payloads p ON p.tenant_id = $1 AND p.root_us = i.root_us AND p.trace_id = i.trace_id AND p.id = i.id`;

const toKeyLists = (runs: readonly StoredState[]): readonly (readonly unknown[])[] => [
  runs.map(({ rootMicros }) => rootMicros),
  runs.map(({ row }) => row.traceId),
  runs.map(({ row }) => row.id),
];

/**
 * Returns a list of values for each column. The facets of a run are passed as one text, the literal of an array:
 * PostgreSQL requires that all inner arrays have the same length, and runs have different numbers of facets.
 */
function toColumnLists(changes: readonly RunChange[]): readonly (readonly unknown[])[] {
  const toFacetLiteral = memoize((facets) => toArrayLiteral([...facets].map(encodeText)));
  return [...listColumnValues(changes), changes.map(({ facets }) => toFacetLiteral(facets))];
}

/** Returns a function that computes its result once for each set of facets. Runs of a batch share sets. */
function memoize<Result>(
  compute: (facets: ReadonlySet<string>) => Result,
): (facets: ReadonlySet<string>) => Result {
  const results = new Map<ReadonlySet<string>, Result>();
  return (facets) => {
    const result = results.get(facets) ?? compute(facets);
    results.set(facets, result);
    return result;
  };
}

const toArrayLiteral = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(",")}}`;

/** The first parameter is the tenant. */
const columnParameters = [
  ...runColumnNames.map((name, index) => `$${index + 2}::${runColumnTypes[name]}[]`),
  `$${runColumnNames.length + 2}::text[]`,
].join(", ");

const inputColumns = runColumnNames.map((name) => `i.${name}`).join(", ");

const insertRunsSql = `INSERT INTO runs (tenant_id, ${runColumnNames.join(", ")}, facets, place)
  SELECT $1, ${inputColumns}, i.facets::text[], ${createPlaceSql("i.number")}
  FROM unnest(${columnParameters}) WITH ORDINALITY i (${runColumnNames.join(", ")}, facets, number)`;

const updateRunsSql = `UPDATE runs r SET (${runColumnNames.join(", ")}, facets, changed) =
    ROW (${inputColumns}, i.facets::text[], pg_current_xact_id()::text::bigint)
  FROM unnest(${columnParameters}, $${runColumnNames.length + 3}::bigint[], $${runColumnNames.length + 4}::text[],
      $${runColumnNames.length + 5}::text[])
    i (${runColumnNames.join(", ")}, facets, old_root_us, old_trace_id, old_id)
  WHERE r.tenant_id = $1 AND r.root_us = i.old_root_us AND r.trace_id = i.old_trace_id AND r.id = i.old_id`;

// `unnest` returns the rows in their order, which `seq` records. ORDER BY would also move the texts, which may be
// large.
const insertPayloadsSql = `INSERT INTO payloads (tenant_id, root_us, trace_id, id, digest, document, body, parts)
  SELECT $1, i.root_us, i.trace_id, i.id, i.digest, i.document, convert_from(substr($9::bytea, i.start, i.length), 'UTF8'), i.parts
  FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::int[], $10::text[])
    i (root_us, trace_id, id, digest, document, start, length, parts)`;
