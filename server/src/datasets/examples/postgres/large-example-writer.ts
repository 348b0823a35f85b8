import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import type { TokenCipher } from "../../../storage/share-token.ts";
import type { Dataset, DatasetExamplesWriter, DatasetUpdate } from "../../dataset.ts";
import { datasetQueries } from "../../dataset-queries.ts";
import { toDatasetColumns } from "../../dataset-row.ts";
import { DatasetVersions } from "../../dataset-versions.ts";
import type { ExampleWriteEngine } from "../example-engine.ts";
import { exampleQueries } from "../example-queries.ts";
import { ExampleRows, formatFirstIds, parseCurrentRow } from "../example-rows.ts";
import type { ExampleWriter } from "../example-writer.ts";
import type {
  ExampleChange,
  ExampleDraft,
  ExampleImportResult,
  ExampleWriteResult,
  SplitChange,
} from "../example.ts";
import { pack, unpack } from "../large-examples.ts";
import type { LargeExampleWrites, Packed, ReceivedExample } from "../large-examples.ts";
import type { SchemaChecks } from "../schemas/schema-checks.ts";
import { toSplitChange } from "../example-change.ts";
import { PostgresExampleTextIndex } from "./example-index.ts";
import { eraseExamples } from "./example-write-engine.ts";

interface LargeWriterDependencies {
  readonly tokenCipher: TokenCipher;
  readonly schemaChecks: SchemaChecks;
  readonly engine: ExampleWriteEngine;
  readonly examples: ExampleWriter;
}

/**
 * Writes many examples to PostgreSQL in one transaction, with the same code that writes a few examples. It also
 * updates and erases the examples of a dataset that is updated or erased.
 */
export class PostgresLargeExampleWriter implements LargeExampleWrites, DatasetExamplesWriter {
  readonly #db: PostgresDatabase;
  readonly #examples: ExampleWriter;
  readonly #schemas: SchemaChecks;
  readonly #rows: ExampleRows;
  readonly #versions: DatasetVersions;
  readonly #textIndex: PostgresExampleTextIndex;

  constructor(
    db: PostgresDatabase,
    { tokenCipher, schemaChecks, engine, examples }: LargeWriterDependencies,
  ) {
    this.#db = db;
    this.#examples = examples;
    this.#schemas = schemaChecks;
    this.#rows = new ExampleRows(db, engine);
    this.#versions = new DatasetVersions(db, tokenCipher);
    this.#textIndex = new PostgresExampleTextIndex(db);
  }

  async create(
    tenantId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<Packed<ExampleWriteResult>> {
    const drafts = parts.flatMap((part) => unpack(part).map(({ draft }) => draft));
    assertDatasetLimit(drafts);
    return pack(await this.#examples.create(tenantId, drafts));
  }

  async update(
    tenantId: string,
    parts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): Promise<Packed<ExampleWriteResult>> {
    const changes = parts.flatMap((part) => unpack(part));
    assertNoRepeatedIds(changes);
    assertDatasetLimit(changes);
    return pack(await this.#examples.update(tenantId, changes, datasetId));
  }

  async import(
    tenantId: string,
    datasetId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<ExampleImportResult> {
    const drafts = parts.flatMap((part) =>
      unpack(part).map(({ draft }): ExampleDraft => ({ ...draft, datasetId })),
    );
    const rejected = await this.#examples.check(tenantId, datasetId, drafts);
    const accepted = drafts.filter(({ id }) => rejected[id] === undefined);
    const written = await this.#examples.create(tenantId, accepted);
    return { ...written, count: accepted.length, rejected };
  }

  async updateSplits(
    tenantId: string,
    datasetId: string,
    { exampleIds, ...change }: SplitChange,
  ): Promise<readonly string[]> {
    await this.#versions.readDataset(tenantId, datasetId);
    const ids = [...new Set(exampleIds)];
    const currentExamples = await this.#rows.findCurrent(tenantId, ids);
    const missing = ids.filter((id) => currentExamples.get(id)?.datasetId !== datasetId);
    if (missing.length > 0) {
      throw new RequestError(404, `Example not found: ${formatFirstIds(missing)}`);
    }
    const changes = ids
      .map((id) => toSplitChange(id, currentExamples.get(id), change))
      .filter(({ splits }) => splits !== undefined);
    if (changes.length > 0) {
      await this.#examples.update(tenantId, changes, datasetId);
    }
    return changes.map(({ id }) => id);
  }

  updateDataset(tenantId: string, update: DatasetUpdate): LongWrite<Dataset> {
    return LongWrite.createAsync(this.#updateDataset(tenantId, update));
  }

  /** Erases some of the rows of a dataset, so that a transaction stays small. Returns whether all rows are erased. */
  async eraseSome(datasetId: string): Promise<boolean> {
    const limit = serverLimits.examplesPart;
    const rows = await this.#db.all(exampleQueries.listKeys, { datasetId, limit });
    const keys = rows.map(({ key }) => key);
    await this.#textIndex.remove(keys);
    await eraseExamples(this.#db, keys, datasetId);
    return keys.length < limit;
  }

  // oxlint-disable-next-line require-yield -- the whole update is one transaction
  async *#updateDataset(
    tenantId: string,
    { dataset, changes, mustCheckExamples }: DatasetUpdate,
  ): AsyncGenerator<void, Dataset> {
    assertNoRepeatedIds(changes);
    this.#schemas.requireValidSchemas(dataset);
    if (mustCheckExamples) {
      await this.#checkOtherExamples(dataset, changes);
    }
    const columns = { ...toDatasetColumns(dataset), modified_us: Date.now() * 1_000 };
    // Store the schemas first, because the changed examples are checked against the stored schemas.
    await this.#db.run(datasetQueries.update, { id: dataset.id, ...columns });
    if (changes.length > 0) {
      await this.#examples.update(tenantId, changes, dataset.id);
    }
    return this.#versions.readDataset(tenantId, dataset.id);
  }

  /** Validates the examples of the dataset that the update does not change. */
  async #checkOtherExamples(dataset: Dataset, changes: readonly ExampleChange[]): Promise<void> {
    const changed = new Set(changes.map(({ id }) => id));
    const limit = serverLimits.examplesPart;
    for (let after = 0, hasMore = true; hasMore;) {
      const values = { datasetId: dataset.id, after, limit };
      const rows = await this.#db.all(exampleQueries.listCurrent, values);
      const examples = rows.map(parseCurrentRow);
      this.#schemas.requireValid(
        dataset,
        examples.filter(({ id }) => !changed.has(id)),
      );
      after = examples.at(-1)?.position ?? after;
      hasMore = rows.length === limit;
    }
  }
}

function assertNoRepeatedIds(changes: readonly ExampleChange[]): void {
  const seenIds = new Set<string>();
  for (const { id } of changes) {
    if (seenIds.has(id)) {
      throw new RequestError(422, `example ${id} occurs twice in the list`);
    }
    seenIds.add(id);
  }
}

function assertDatasetLimit(items: readonly { readonly datasetId?: string }[]): void {
  const ids = new Set(items.map(({ datasetId }) => datasetId));
  if (ids.size > serverLimits.datasetsOfWrite) {
    throw new RequestError(
      413,
      `the examples belong to more than ${serverLimits.datasetsOfWrite} datasets; send fewer in one request`,
    );
  }
}
