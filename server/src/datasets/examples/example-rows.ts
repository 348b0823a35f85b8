import { isDeepStrictEqual } from "node:util";
import { RequestError } from "../../model/errors.ts";
import type { Database } from "../../storage/query.ts";
import { computeChecksum } from "../../storage/sqlite/checksum.ts";
import type { Attachment, AttachmentDraft, Example, ExampleDraft } from "./example.ts";
import type { ExampleWriteEngine, FileOwner } from "./example-engine.ts";
import { exampleQueries, stagedMicros } from "./example-queries.ts";
import type { CurrentRow } from "./example-queries.ts";
import { parseExampleRow } from "./example-row.ts";

/** A row of an example to insert. */
export interface NewRow {
  readonly tenantId: string;
  readonly datasetId: string;
  readonly id: string;
  /** The position of the row that this one replaces; defaults to the row's key. */
  readonly position?: number;
  readonly createdMicros: number;
  readonly fromMicros: number;
  /** Written before its version exists, so that no read returns it yet. See `example-stage.ts`. */
  readonly isStaged?: boolean;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
  readonly attachments: readonly Attachment[];
}

/** An example in its current version, with the key of its row. */
export interface CurrentExample extends Example {
  readonly key: number;
}

/** Writes rows of examples and their files, in the transaction of the caller. */
export class ExampleRows {
  readonly #db: Database;
  readonly #engine: ExampleWriteEngine;

  constructor(db: Database, engine: ExampleWriteEngine) {
    this.#db = db;
    this.#engine = engine;
  }

  /** The current examples among the ids, by id and in the order of the ids. */
  async findCurrent(
    tenantId: string,
    ids: readonly string[],
  ): Promise<Map<string, CurrentExample>> {
    if (ids.length === 0) {
      return new Map();
    }
    const values = { tenantId, ids: JSON.stringify(ids) };
    return toCurrentExamples(await this.#db.all(exampleQueries.findCurrent, values), ids);
  }

  /**
   * Inserts rows and returns the key of the first; the others have the keys after it. They can be found by their ids once
   * the engine has indexed new ids.
   */
  async insertAll(rows: readonly NewRow[]): Promise<number> {
    const firstKey = await this.#engine.assignKeys(rows.length);
    for (const [index, row] of rows.entries()) {
      await this.#db.run(exampleQueries.insert, toColumns(row, firstKey + index));
    }
    return firstKey;
  }

  /** Ends a row: it is not valid from `micros` on. */
  async end(key: number, micros: number): Promise<void> {
    await this.#db.run(exampleQueries.end, { key, micros });
  }

  /** Stores a file of an example. */
  async attach(owner: FileOwner, file: AttachmentDraft): Promise<Attachment> {
    const inserted = await this.#db.first(exampleQueries.insertFile, toFileColumns(owner, file));
    return toAttachment(file, inserted);
  }

  /** Whether a stored file has the same bytes. */
  async hasBytes({ blob }: Attachment, bytes: Uint8Array): Promise<boolean> {
    const stored = await this.#db.first(exampleQueries.findFile, { key: blob });
    return stored !== undefined && Buffer.compare(stored.bytes, bytes) === 0;
  }
}

/** The columns of a new row. */
export const toColumns = (row: NewRow, key: number) => ({
  key,
  position: row.position ?? key,
  tenant_id: row.tenantId,
  dataset_id: row.datasetId,
  id: row.id,
  created_us: row.createdMicros,
  from_us: row.fromMicros,
  to_us: row.isStaged === true ? stagedMicros : null,
  source_run_id: row.sourceRunId,
  inputs: row.inputs,
  outputs: row.outputs,
  metadata: row.metadata,
  attachments: row.attachments.length === 0 ? null : JSON.stringify(row.attachments),
});

/** The columns of a new file. */
export const toFileColumns = (
  { tenantId, datasetId, id }: FileOwner,
  { bytes }: AttachmentDraft,
) => ({
  tenant_id: tenantId,
  dataset_id: datasetId,
  example_id: id,
  bytes,
  checksum: computeChecksum(bytes, id),
});

/** The attachment that a file was inserted for. */
export function toAttachment(
  { name, mimeType }: Pick<AttachmentDraft, "name" | "mimeType">,
  inserted: { readonly key: number } | undefined,
): Attachment {
  if (inserted === undefined) {
    throw new Error(
      "the database returned no key for the inserted file: it must support RETURNING",
    );
  }
  return { name, mimeType, blob: inserted.key };
}

export const parseCurrentRow = (row: CurrentRow): CurrentExample => ({
  ...parseExampleRow(row),
  key: row.key,
});

/** The examples by id, in the order of the ids. */
export function toCurrentExamples(
  rows: readonly CurrentRow[],
  ids: readonly string[],
): Map<string, CurrentExample> {
  const found = new Map(rows.map((row) => [row.id, parseCurrentRow(row)]));
  return new Map(
    ids.flatMap((id) => {
      const example = found.get(id);
      return example === undefined ? [] : [[id, example] as const];
    }),
  );
}

/** A stored file, and the bytes that it must have. */
type FileMatch = readonly [Attachment, Uint8Array];

/**
 * Compares a draft with the stored example. Returns the files whose bytes must be equal too, or `undefined` if the draft
 * differs already.
 */
export function matchStored(
  stored: CurrentExample,
  draft: ExampleDraft,
): readonly FileMatch[] | undefined {
  const { attachments = [], runAttachments = [] } = draft;
  const storedFiles = new Map(stored.attachments.map((file) => [file.name, file]));
  const matches = attachments.flatMap(({ name, mimeType, bytes }): FileMatch[] => {
    const file = storedFiles.get(name);
    return file?.mimeType === mimeType ? [[file, bytes]] : [];
  });
  const isMatch =
    isSameContent(stored, draft) &&
    storedFiles.size === attachments.length + runAttachments.length &&
    runAttachments.every((name) => storedFiles.has(name)) &&
    matches.length === attachments.length;
  return isMatch ? matches : undefined;
}

type Content = Pick<ExampleDraft, "datasetId" | "inputs" | "outputs" | "metadata" | "sourceRunId">;

/** Whether two examples are identical except for their times, regardless of the order of members. */
export const isSameContent = (a: Content, b: Content): boolean =>
  a.datasetId === b.datasetId &&
  a.sourceRunId === b.sourceRunId &&
  isSameJson(a.inputs, b.inputs) &&
  isSameJson(a.outputs ?? "null", b.outputs ?? "null") &&
  isSameJson(a.metadata, b.metadata);

/** Longer texts are compared as they are: parsing them would block other writes for too long. */
const isSameJson = (a: string, b: string): boolean =>
  a === b ||
  (a.length + b.length <= maxParsedChars && isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));

const maxParsedChars = 262_144;

/** The error for a draft whose source run lacks an attachment. */
export const createMissingFileError = (runId: string | null, name: string): RequestError =>
  new RequestError(404, `run ${runId} has no attachment ${JSON.stringify(name)}`);

const maxListedIds = 10;

/** Lists the first ids, and the number of the others. */
export const nameIds = (ids: readonly string[]): string =>
  ids.slice(0, maxListedIds).join(", ") +
  (ids.length > maxListedIds ? ` and ${ids.length - maxListedIds} more` : "");
