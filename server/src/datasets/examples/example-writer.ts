import type { ExampleWriteEngine } from "./example-engine.ts";
import { RequestError } from "../../model/errors.ts";
import type { LongWrite, WithLongWrites } from "../../storage/long-write.ts";
import type { Database } from "../../storage/query.ts";
import type { RowKeys } from "../../storage/row-keys.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { Dataset } from "../dataset.ts";
import type { CurrentAuthor } from "../version-author.ts";
import { DatasetVersions } from "../dataset-versions.ts";
import type {
  Attachment,
  ExampleChange,
  ExampleDraft,
  ExampleWriteResult,
  ExampleTimes,
  ExampleWrites,
} from "./example.ts";
import { createChangedRow } from "./example-change.ts";
import {
  createMissingFileError,
  ExampleRows,
  isSameContent,
  compareWithStored,
  formatFirstIds,
} from "./example-rows.ts";
import type { CurrentExample, NewExampleRow } from "./example-rows.ts";
import type { SchemaChecks } from "./schemas/schema-checks.ts";
import { VersionDraft } from "./version-draft.ts";

/** {@link ExampleWrites} for the writer thread: `deleteMany` resolves to a `LongWrite`, which runs in slices. */
export type ExampleWriteSteps = WithLongWrites<ExampleWrites, "deleteMany">;

interface ExampleWriterDependencies {
  readonly keys: RowKeys;
  readonly tokenCipher: TokenCipher;
  readonly schemaChecks: SchemaChecks;
  readonly engine: ExampleWriteEngine;
  readonly author?: CurrentAuthor;
}

/** Writes examples. Each call creates one version of each dataset that it changes. */
export class ExampleWriter implements ExampleWriteSteps {
  readonly #keys: RowKeys;
  readonly #schemas: SchemaChecks;
  readonly #engine: ExampleWriteEngine;
  readonly #rows: ExampleRows;
  readonly #versions: DatasetVersions;

  constructor(
    db: Database,
    { keys, tokenCipher, schemaChecks, engine, author }: ExampleWriterDependencies,
  ) {
    this.#keys = keys;
    this.#schemas = schemaChecks;
    this.#engine = engine;
    this.#rows = new ExampleRows(db, engine);
    this.#versions = new DatasetVersions(db, tokenCipher, author);
  }

  async create(tenantId: string, drafts: readonly ExampleDraft[]): Promise<ExampleWriteResult> {
    const datasets = await this.#readDatasets(tenantId, drafts);
    const { created, existing } = await this.#classifyDrafts(tenantId, drafts);
    const versions = new Map<string, VersionDraft>();
    for (const [id, dataset] of datasets) {
      const datasetDrafts = created.filter(({ datasetId }) => datasetId === id);
      this.#schemas.requireValid(dataset, datasetDrafts);
      if (datasetDrafts.length > 0) {
        const requestedMicros = datasetDrafts.reduce(
          (max, { createdMicros = 0 }) => Math.max(max, createdMicros),
          0,
        );
        const version = this.#beginVersion(dataset, requestedMicros);
        versions.set(id, version);
        await version.addAll(await this.#toRows(tenantId, datasetDrafts, version.timeMicros));
      }
    }
    return this.#finishVersions(datasets, versions, existing);
  }

  async check(
    tenantId: string,
    datasetId: string,
    drafts: readonly ExampleDraft[],
  ): Promise<Readonly<Record<string, string>>> {
    return this.#schemas.findErrors(await this.#versions.readDataset(tenantId, datasetId), drafts);
  }

  async update(
    tenantId: string,
    changes: readonly ExampleChange[],
    datasetId?: string,
  ): Promise<ExampleWriteResult> {
    const ids = changes.map(({ id }) => id);
    const currentExamples = await this.#readCurrentExamples(tenantId, ids, datasetId);
    const datasets = await this.#readDatasets(tenantId, [
      ...currentExamples.values(),
      ...changes.flatMap(({ datasetId: id }) => (id === undefined ? [] : [{ datasetId: id }])),
    ]);
    const versions = new Map<string, VersionDraft>();
    const getVersion = (dataset: Dataset): VersionDraft => {
      const version = versions.get(dataset.id) ?? this.#beginVersion(dataset);
      versions.set(dataset.id, version);
      return version;
    };
    for (const change of changes) {
      const example = currentExamples.get(change.id);
      const sourceDataset = example && datasets.get(example.datasetId);
      const targetDataset = sourceDataset && datasets.get(change.datasetId ?? sourceDataset.id);
      const row = example && createChangedRow({ example, change, tenantId });
      if (
        example !== undefined &&
        sourceDataset !== undefined &&
        targetDataset !== undefined &&
        row !== undefined
      ) {
        this.#schemas.requireValid(targetDataset, [row]);
        const attachments = [...row.attachments];
        for (const file of change.attachments ?? []) {
          attachments.push(await this.#rows.attach(row, file));
        }
        await getVersion(sourceDataset).end(example.key);
        const changed = { ...row, attachments, datasetId: targetDataset.id };
        const [added = example] = await getVersion(targetDataset).addAll([changed]);
        currentExamples.set(change.id, added);
      }
    }
    return this.#finishVersions(datasets, versions, {});
  }

  async deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): Promise<LongWrite<readonly string[]>> {
    return this.#engine.deleteMany(tenantId, [...new Set(ids)], mode);
  }

  async #toRows(tenantId: string, drafts: readonly ExampleDraft[], micros: number) {
    const rows: Omit<NewExampleRow, "fromMicros">[] = [];
    for (const draft of drafts) {
      const {
        createdMicros = micros,
        runAttachments = [],
        hasGeneratedId: _isGenerated,
        ...row
      } = draft;
      const hasFiles = runAttachments.length + (draft.attachments?.length ?? 0) > 0;
      const attachments = hasFiles ? await this.#attach(tenantId, draft) : [];
      rows.push({ ...row, tenantId, createdMicros, attachments });
    }
    return rows;
  }

  #beginVersion(dataset: Dataset, requestedMicros?: number): VersionDraft {
    const dependencies = { rows: this.#rows, versions: this.#versions, engine: this.#engine };
    return new VersionDraft(dependencies, dataset, requestedMicros);
  }

  async #finishVersions(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, VersionDraft>,
    existingTimes: Readonly<Record<string, ExampleTimes>>,
  ): Promise<ExampleWriteResult> {
    for (const version of versions.values()) {
      await version.finish();
    }
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.timeMicros ?? versionMicros ?? createdMicros;
      return [id, { name, micros }] as const;
    });
    return { datasets: Object.fromEntries(entries), existingTimes };
  }

  /** @throws RequestError 404: the tenant has no such dataset. */
  async #readDatasets(
    tenantId: string,
    examples: Iterable<{ readonly datasetId: string }>,
  ): Promise<Map<string, Dataset>> {
    const datasets = new Map<string, Dataset>();
    for (const { datasetId } of examples) {
      if (!datasets.has(datasetId)) {
        datasets.set(datasetId, await this.#versions.readDataset(tenantId, datasetId));
      }
    }
    return datasets;
  }

  /** @throws RequestError 404: examples do not exist, or are in another dataset; the message lists their ids. */
  async #readCurrentExamples(
    tenantId: string,
    ids: readonly string[],
    datasetId: string | undefined,
  ): Promise<Map<string, CurrentExample>> {
    const currentExamples = await this.#rows.findCurrent(tenantId, ids);
    const missing = ids.filter((id) => {
      const example = currentExamples.get(id);
      return example === undefined || (datasetId ?? example.datasetId) !== example.datasetId;
    });
    if (missing.length > 0) {
      throw new RequestError(404, `Example not found: ${formatFirstIds(missing)}`);
    }
    return currentExamples;
  }

  /**
   * Separates the drafts of new examples from the drafts that equal an existing example.
   *
   * @throws RequestError 409: an example with the id exists and differs.
   */
  async #classifyDrafts(
    tenantId: string,
    drafts: readonly ExampleDraft[],
  ): Promise<{ created: ExampleDraft[]; existing: Record<string, ExampleTimes> }> {
    const draftsWithClientId = drafts.filter(({ hasGeneratedId }) => !hasGeneratedId);
    const ids = draftsWithClientId.map(({ id }) => id);
    const currentExamples = await this.#rows.findCurrent(tenantId, ids);
    const firstDrafts = new Map<string, ExampleDraft>();
    const existing: Record<string, ExampleTimes> = {};
    const conflictingIds: string[] = [];
    for (const draft of draftsWithClientId) {
      const previous = firstDrafts.get(draft.id);
      firstDrafts.set(draft.id, previous ?? draft);
      const stored = currentExamples.get(draft.id);
      if (stored !== undefined) {
        const { createdMicros, modifiedMicros } = stored;
        existing[draft.id] = { createdMicros, modifiedMicros };
      }
      const isConflicting =
        (previous !== undefined && !isSameContent(previous, draft)) ||
        (stored !== undefined && !(await this.#isStored(stored, draft)));
      if (isConflicting) {
        conflictingIds.push(draft.id);
      }
    }
    if (conflictingIds.length > 0) {
      throw new RequestError(
        409,
        `different examples with these ids already exist: ${formatFirstIds(conflictingIds)}`,
      );
    }
    const created = drafts.filter(
      (draft) =>
        draft.hasGeneratedId ||
        (firstDrafts.get(draft.id) === draft && existing[draft.id] === undefined),
    );
    return { created, existing };
  }

  /** Whether a draft equals the stored example, including the attachments. */
  async #isStored(stored: CurrentExample, draft: ExampleDraft): Promise<boolean> {
    const fileComparisons = compareWithStored(stored, draft);
    for (const [file, bytes] of fileComparisons ?? []) {
      if (!(await this.#rows.hasBytes(file, bytes))) {
        return false;
      }
    }
    return fileComparisons !== undefined;
  }

  /**
   * Stores the attachments of a new example: those that were sent, and those to copy from its source run.
   *
   * @throws RequestError 404: the source run has no such attachment.
   */
  async #attach(tenantId: string, draft: ExampleDraft): Promise<readonly Attachment[]> {
    const { attachments = [], runAttachments = [], sourceRunId, datasetId, id } = draft;
    const owner = { tenantId, datasetId, id };
    const stored: Attachment[] = [];
    for (const name of runAttachments) {
      const runKey = await this.#keys.keyOf("run", tenantId, sourceRunId ?? "");
      const file = await this.#engine.copyRunFile(owner, runKey, name);
      if (file === undefined) {
        throw createMissingFileError(sourceRunId, name);
      }
      stored.push(file);
    }
    for (const file of attachments) {
      stored.push(await this.#rows.attach(owner, file));
    }
    return stored;
  }
}
