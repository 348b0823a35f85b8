import { isDeepStrictEqual } from "node:util";
import { RequestError } from "../../model/errors.ts";
import type { Database } from "../../storage/query.ts";
import { computeChecksum } from "../../storage/sqlite/checksum.ts";
import type { Attachment, AttachmentDraft, Example, ExampleDraft } from "./example.ts";
import type { ExampleWriteEngine, FileOwner } from "./example-engine.ts";
import { exampleQueries, stagedMicros } from "./example-queries.ts";
import type { CurrentRow } from "./example-queries.ts";
import { parseExampleRow } from "./example-row.ts";

export interface NewExampleRow {
  readonly tenantId: string;
  readonly datasetId: string;
  readonly id: string;
  /**
   * The position of the example in the order in which the dataset was written. A row that replaces another one keeps
   * its position; the default is the key of the new row.
   */
  readonly position?: number;
  readonly createdMicros: number;
  /** Time of the first version that contains the row. */
  readonly fromMicros: number;
  /** Whether the row is written before its version exists, so that no read returns it yet. See `ExampleStage`. */
  readonly isStaged?: boolean;
  readonly sourceRunId: string | null;
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
  readonly attachments: readonly Attachment[];
}

/** An example in the newest version of its dataset, with the key of its row. */
export interface CurrentExample extends Example {
  readonly key: number;
}

/** Writes rows of examples and of their attachments, in the transaction of the caller. */
export class ExampleRows {
  readonly #db: Database;
  readonly #engine: ExampleWriteEngine;

  constructor(db: Database, engine: ExampleWriteEngine) {
    this.#db = db;
    this.#engine = engine;
  }

  /** Finds examples by their ids, in the newest version of their datasets. The result has the order of the ids. */
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
   * Inserts rows and returns the key of the first row; the others have the keys after it. Queries find the rows by
   * their ids only after `ExampleWriteEngine.indexNewIds` was called.
   */
  async insertAll(rows: readonly NewExampleRow[]): Promise<number> {
    const firstKey = await this.#engine.assignKeys(rows.length);
    for (const [index, row] of rows.entries()) {
      await this.#db.run(exampleQueries.insert, toExampleColumns(row, firstKey + index));
    }
    return firstKey;
  }

  /** Ends the validity of a row: the version with the time `micros` and later versions do not contain it. */
  async end(key: number, micros: number): Promise<void> {
    await this.#db.run(exampleQueries.end, { key, micros });
  }

  /** Stores an attachment of an example. */
  async attach(owner: FileOwner, file: AttachmentDraft): Promise<Attachment> {
    const insertedRow = await this.#db.first(exampleQueries.insertFile, toFileColumns(owner, file));
    return toAttachment(file, insertedRow);
  }

  /** Whether a stored attachment has exactly these bytes. */
  async hasBytes({ blob }: Attachment, bytes: Uint8Array): Promise<boolean> {
    const stored = await this.#db.first(exampleQueries.findFile, { key: blob });
    return stored !== undefined && Buffer.compare(stored.bytes, bytes) === 0;
  }
}

/** Converts a new row to the columns of the table `examples`. */
export const toExampleColumns = (row: NewExampleRow, key: number) => ({
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

/** Converts an attachment to the columns of the table `example_blobs`. */
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

/** Describes an attachment whose bytes were inserted into the database as `insertedRow`. */
export function toAttachment(
  { name, mimeType }: Pick<AttachmentDraft, "name" | "mimeType">,
  insertedRow: { readonly key: number } | undefined,
): Attachment {
  if (insertedRow === undefined) {
    throw new Error(
      "the database returned no key for the inserted file: it must support RETURNING",
    );
  }
  return { name, mimeType, blob: insertedRow.key };
}

/** Converts a row to an example in the newest version of its dataset. */
export const parseCurrentRow = (row: CurrentRow): CurrentExample => ({
  ...parseExampleRow(row),
  key: row.key,
});

/** Parses rows into examples by id, in the order of `ids`. */
export function toCurrentExamples(
  rows: readonly CurrentRow[],
  ids: readonly string[],
): Map<string, CurrentExample> {
  const examplesById = new Map(rows.map((row) => [row.id, parseCurrentRow(row)]));
  return new Map(
    ids.flatMap((id) => {
      const example = examplesById.get(id);
      return example === undefined ? [] : [[id, example] as const];
    }),
  );
}

/**
 * A stored attachment, and the bytes that were sent for it. The attachment is unchanged if both have the same bytes.
 */
type FileComparison = readonly [Attachment, Uint8Array];

/**
 * Compares a draft with the stored example, except for the bytes of attachments. Returns the attachments whose bytes
 * the caller must compare, or `undefined` if the draft differs from the stored example.
 */
export function compareWithStored(
  stored: CurrentExample,
  draft: ExampleDraft,
): readonly FileComparison[] | undefined {
  const { attachments = [], runAttachments = [] } = draft;
  const storedFiles = new Map(stored.attachments.map((file) => [file.name, file]));
  const comparisons = attachments.flatMap(({ name, mimeType, bytes }): FileComparison[] => {
    const file = storedFiles.get(name);
    return file?.mimeType === mimeType ? [[file, bytes]] : [];
  });
  const isMatch =
    isSameContent(stored, draft) &&
    storedFiles.size === attachments.length + runAttachments.length &&
    runAttachments.every((name) => storedFiles.has(name)) &&
    comparisons.length === attachments.length;
  return isMatch ? comparisons : undefined;
}

type Content = Pick<ExampleDraft, "datasetId" | "inputs" | "outputs" | "metadata" | "sourceRunId">;

/** Whether two examples have the same content. The order of the members of their JSON objects does not matter. */
export const isSameContent = (a: Content, b: Content): boolean =>
  a.datasetId === b.datasetId &&
  a.sourceRunId === b.sourceRunId &&
  isSameJson(a.inputs, b.inputs) &&
  isSameJson(a.outputs ?? "null", b.outputs ?? "null") &&
  isSameJson(a.metadata, b.metadata);

/**
 * Compares two JSON texts. Long texts must be equal as texts, because parsing them would block other writes for
 * too long.
 */
const isSameJson = (a: string, b: string): boolean =>
  a === b ||
  (a.length + b.length <= maxComparedChars && isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));

const maxComparedChars = 262_144;

/** Creates the error for an example whose source run does not have an attachment that was to be copied. */
export const createMissingFileError = (runId: string | null, name: string): RequestError =>
  new RequestError(404, `run ${runId} has no attachment ${JSON.stringify(name)}`);

const maxListedIds = 10;

/** Lists the first ids for an error message, and the number of the others. */
export const formatFirstIds = (ids: readonly string[]): string =>
  ids.slice(0, maxListedIds).join(", ") +
  (ids.length > maxListedIds ? ` and ${ids.length - maxListedIds} more` : "");
