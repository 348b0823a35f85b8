import { toMimeType } from "../../../bodies/part-head.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import type { TokenCipher } from "../../../storage/share-token.ts";
import type { Dataset } from "../../dataset.ts";
import { chooseVersionTime } from "../../dataset-version.ts";
import type { CurrentAuthor } from "../../version-author.ts";
import { DatasetVersions } from "../../dataset-versions.ts";
import type { ExampleWriteEngine, FileOwner } from "../example-engine.ts";
import type { Attachment } from "../example.ts";
import { exampleQueries } from "../example-queries.ts";
import { toAttachment, toFileColumns } from "../example-rows.ts";
import { PostgresExampleTextIndex } from "./example-index.ts";

/** Finds the bytes of an attachment of a run of the tenant. */
export type FindRunFile = (
  tenantId: string,
  runId: string,
  name: string,
) => Promise<{ readonly mimeType: string; readonly bytes: Uint8Array } | undefined>;

interface EngineDependencies {
  readonly tokenCipher: TokenCipher;
  readonly findRunFile: FindRunFile;
  readonly author?: CurrentAuthor;
}

/**
 * Implements for PostgreSQL the writes to examples that each database engine implements itself. Readers do not wait for
 * a write. A write of many examples, except for a hard deletion, is one transaction: if it fails, or the server ends,
 * nothing of it remains.
 */
export class PostgresExampleWriteEngine implements ExampleWriteEngine {
  readonly #db: PostgresDatabase;
  readonly #findRunFile: FindRunFile;
  readonly #textIndex: PostgresExampleTextIndex;
  readonly #versions: DatasetVersions;

  constructor(db: PostgresDatabase, { tokenCipher, findRunFile, author }: EngineDependencies) {
    this.#db = db;
    this.#findRunFile = findRunFile;
    this.#textIndex = new PostgresExampleTextIndex(db);
    this.#versions = new DatasetVersions(db, tokenCipher, author);
  }

  /**
   * Takes a block of keys from a sequence, which several servers can do at the same time. The keys within a block are
   * consecutive, and later blocks have higher keys.
   */
  async assignKeys(count: number): Promise<number> {
    if (count > keysPerBlock) {
      throw new RequestError(
        413,
        `more than ${keysPerBlock} examples in one write: send them in parts`,
      );
    }
    const { rows } = await this.#db.query<{ block: number }>(
      "SELECT nextval('example_key_blocks') AS block",
    );
    return Number(rows[0]?.block) * keysPerBlock;
  }

  /** PostgreSQL's own index contains the ids already. */
  indexNewIds(): void {}

  updateTextIndex(
    dataset: Dataset,
    keys: { readonly added: readonly number[]; readonly removed: readonly number[] },
  ): Promise<void> {
    return this.#textIndex.update(dataset, keys);
  }

  async copyRunFile(
    owner: FileOwner,
    runId: string,
    name: string,
  ): Promise<Attachment | undefined> {
    const file = await this.#findRunFile(owner.tenantId, runId, name);
    if (file === undefined) {
      return undefined;
    }
    const draft = { name, mimeType: toMimeType(file.mimeType), bytes: file.bytes };
    const inserted = await this.#db.first(exampleQueries.insertFile, toFileColumns(owner, draft));
    return toAttachment(draft, inserted);
  }

  deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): LongWrite<readonly string[]> {
    return LongWrite.createAsync(this.#deleteAll(tenantId, ids, mode));
  }

  /**
   * Removes the examples from the newest version. A hard deletion then erases the rows of all versions, in slices.
   * After a failure, the client can repeat the deletion to erase the remaining rows.
   */
  async *#deleteAll(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): AsyncGenerator<void, readonly string[]> {
    const deletedIds: string[] = [];
    const rowKeys: number[] = [];
    const currentKeysByDataset = new Map<string, number[]>();
    for (const part of splitIntoParts(ids)) {
      const values = { tenantId, ids: JSON.stringify(part) };
      const rows = await this.#db.all(exampleQueries.findRows, values);
      const deletable = mode === "soft" ? rows.filter((row) => row.is_current === 1) : rows;
      const deletableIds = new Set(deletable.map(({ id }) => id));
      deletedIds.push(...part.filter((id) => deletableIds.has(id)));
      for (const { key, dataset_id: datasetId, is_current: isCurrent } of rows) {
        rowKeys.push(key);
        if (isCurrent === 1) {
          const keys = currentKeysByDataset.get(datasetId) ?? [];
          currentKeysByDataset.set(datasetId, keys);
          keys.push(key);
        }
      }
    }
    if (deletedIds.length === 0) {
      throw new RequestError(404, "Example not found");
    }
    for (const [datasetId, removed] of currentKeysByDataset) {
      const dataset = await this.#versions.readDataset(tenantId, datasetId);
      const micros = chooseVersionTime(dataset.versionMicros, undefined);
      await this.#db.run(exampleQueries.endAll, { keys: JSON.stringify(removed), micros });
      await this.#textIndex.update(dataset, { added: [], removed });
      await this.#versions.addVersion(dataset, micros, -removed.length);
    }
    if (mode === "hard") {
      for (const part of splitIntoParts(rowKeys)) {
        yield;
        await this.#textIndex.remove(part);
        await eraseExamples(this.#db, part, null);
      }
    }
    return deletedIds;
  }
}

/**
 * Erases rows, and all attachments of the examples in these rows. If a dataset is passed, erases only the attachments
 * in this dataset.
 */
export async function eraseExamples(
  db: PostgresDatabase,
  rowKeys: readonly number[],
  datasetId: string | null,
): Promise<void> {
  const keys = JSON.stringify(rowKeys);
  await db.run(exampleQueries.eraseFiles, { keys, datasetId });
  await db.run(exampleQueries.erase, { keys });
}

/** Number of keys that one write reserves. Safe integers suffice for 8 billion writes. */
export const keysPerBlock = 1_048_576;

function* splitIntoParts<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += serverLimits.examplesPart) {
    yield items.slice(start, start + serverLimits.examplesPart);
  }
}
