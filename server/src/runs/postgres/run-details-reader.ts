import { createPayloadBytesSql } from "../../storage/payload-bytes.ts";
import { createPayloadTextSql } from "../shared-texts/postgres-shared-texts.ts";
import { toMimeType } from "../../bodies/part-head.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText } from "../../storage/postgres/text-encoding.ts";
import type { RunQuery } from "../run-query.ts";
import type { RunAttachment, RunChildren, StoredRun } from "../run-row.ts";
import type { FoundRun } from "./run-shape.ts";

/** Reads the data of runs that is not in their rows: payloads, files and descendants. */
export class RunDetailsReader {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Reads the requested parts of runs. If the payloads exceed `bytesMax`, only the first runs are returned. */
  async readDetails(
    runs: readonly FoundRun[],
    { parts, withChildren, bytesMax }: Pick<RunQuery, "parts" | "withChildren" | "bytesMax">,
  ): Promise<readonly StoredRun[]> {
    const bodies =
      parts?.has("bodies") === false ? undefined : await this.#readBodies(runs, bytesMax);
    const returnedRuns = runs.slice(0, bodies?.length);
    const files =
      parts?.has("attachments") === false ? noFiles : await this.#listFiles(returnedRuns);
    const stored: StoredRun[] = [];
    for (const [index, { rootMicros: _root, ...run }] of returnedRuns.entries()) {
      stored.push({
        ...run,
        bodies: bodies?.[index] ?? [],
        attachments: files.get(index) ?? [],
        ...(withChildren ? await this.#readChildren(run) : noChildren),
      });
    }
    return stored;
  }

  /**
   * Returns the payloads of each run in ascending precedence: that of the post, then those of the patches in the order
   * received. Once the payloads exceed `bytesMax`, no more runs are read: the result then covers only the first runs.
   */
  async #readBodies(
    runs: readonly FoundRun[],
    bytesMax: number = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly (readonly Buffer[])[]> {
    if (runs.length === 0) {
      return [];
    }
    const { rows } = await this.#db.query<BodyRow>(
      `SELECT w.ordinal, CASE WHEN coalesce(w.bytes_before, 0) <= $5::bigint THEN ${createPayloadTextSql("w")} END AS body FROM (
         SELECT i.ordinal, p.tenant_id, p.body, p.parts, p.digest <> '' AS is_patch, p.seq,
           sum(${createPayloadBytesSql("p")}) OVER (ORDER BY i.ordinal RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
         FROM ${keysSql}
         JOIN payloads p ON p.tenant_id = $1 AND p.root_us = i.root_us AND p.trace_id = i.trace_id AND p.id = i.id
       ) w ORDER BY w.ordinal, w.is_patch, w.seq`,
      [...toKeyLists(runs), bytesMax],
    );
    const bodies = runs.map((): Buffer[] => []);
    for (const { ordinal, body } of rows) {
      if (body === null) {
        return bodies.slice(0, ordinal - 1);
      }
      bodies[ordinal - 1]?.push(Buffer.from(body));
    }
    return bodies;
  }

  /** Returns the files by the index of their run; runs without files have no entry. */
  async #listFiles(runs: readonly FoundRun[]): Promise<Files> {
    const files = new Map<number, RunAttachment[]>();
    if (runs.length === 0) {
      return files;
    }
    const { rows } = await this.#db.query<FileRow>(
      `SELECT i.ordinal, a.name, a.content_type FROM ${keysSql}
       JOIN attachments a ON a.tenant_id = $1 AND a.root_us = i.root_us AND a.trace_id = i.trace_id AND a.id = i.id
       ORDER BY i.ordinal, a.name`,
      toKeyLists(runs),
    );
    for (const { ordinal, name, content_type: contentType } of rows) {
      const filesOfRun = files.get(ordinal - 1) ?? [];
      files.set(ordinal - 1, filesOfRun);
      filesOfRun.push({ name: decodeText(name), mimeType: toMimeType(decodeText(contentType)) });
    }
    return files;
  }

  /** Returns the ids of a run's descendants. */
  async #readChildren({
    row: { traceId, id, dottedOrder },
    tenantId,
  }: Pick<StoredRun, "row" | "tenantId">): Promise<RunChildren> {
    if (dottedOrder === "") {
      return { childRunIds: [], directChildRunIds: [] };
    }
    // The dotted order of a descendant begins with the run's dotted order and a dot. In ASCII, '/' follows '.'.
    const { rows } = await this.#db.query<{
      readonly id: string;
      readonly parent_run_id: string | null;
    }>(
      `SELECT id, parent_run_id FROM runs
       WHERE tenant_id = $1 AND trace_id = $2 AND dotted_order > $3 AND dotted_order < $4 ORDER BY dotted_order`,
      [tenantId, traceId, `${dottedOrder}.`, `${dottedOrder}/`],
    );
    return {
      childRunIds: rows.map((child) => child.id),
      directChildRunIds: rows
        .filter(({ parent_run_id: parentId }) => parentId === id)
        .map((child) => child.id),
    };
  }
}

interface BodyRow {
  readonly ordinal: number;
  readonly body: string | null;
}

interface FileRow {
  readonly ordinal: number;
  readonly name: string;
  readonly content_type: string;
}

/**
 * The keys of the listed runs. `ordinal` is a run's position in the list, beginning with 1. See {@link toKeyLists} for
 * the parameters.
 */
const keysSql =
  "unnest($2::bigint[], $3::text[], $4::text[]) WITH ORDINALITY i (root_us, trace_id, id, ordinal)";

/** The parameters of {@link keysSql}: the tenant, to whom all runs belong, and a list for each column of their keys. */
const toKeyLists = (runs: readonly FoundRun[]): readonly unknown[] => [
  runs[0]?.tenantId,
  runs.map(({ rootMicros }) => rootMicros),
  runs.map(({ row }) => row.traceId),
  runs.map(({ row }) => row.id),
];

type Files = ReadonlyMap<number, readonly RunAttachment[]>;

const noFiles: Files = new Map();

const noChildren: RunChildren = { childRunIds: null, directChildRunIds: null };
