import type { ExampleWriteEngine } from "./example-engine.ts";
import { RequestError } from "../../model/errors.ts";
import type { LongWrite, WithLongWrites } from "../../storage/long-write.ts";
import type { Database } from "../../storage/query.ts";
import type { RowKeys } from "../../storage/row-keys.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { Dataset } from "../dataset.ts";
import { DatasetVersions } from "../dataset-versions.ts";
import type {
  Attachment,
  ExampleChange,
  ExampleDraft,
  ExamplesWritten,
  ExampleTimes,
  ExampleWrites,
} from "./example.ts";
import { planChange } from "./example-change.ts";
import {
  createMissingFileError,
  ExampleRows,
  isSameContent,
  matchStored,
  nameIds,
} from "./example-rows.ts";
import type { CurrentExample, NewRow } from "./example-rows.ts";
import type { SchemaChecks } from "./schemas/schema-checks.ts";
import { VersionDraft } from "./version-draft.ts";

/** What the writer thread calls: a deletion is performed in slices. */
export type ExampleWriteSteps = WithLongWrites<ExampleWrites, "deleteMany">;

interface ExampleWriterParts {
  readonly keys: RowKeys;
  readonly tokens: TokenCipher;
  readonly schemas: SchemaChecks;
  readonly engine: ExampleWriteEngine;
}

/** Writes examples. Each call creates one version of each dataset that it changes. */
export class ExampleWriter implements ExampleWriteSteps {
  readonly #keys: RowKeys;
  readonly #schemas: SchemaChecks;
  readonly #engine: ExampleWriteEngine;
  readonly #rows: ExampleRows;
  readonly #versions: DatasetVersions;

  constructor(db: Database, { keys, tokens, schemas, engine }: ExampleWriterParts) {
    this.#keys = keys;
    this.#schemas = schemas;
    this.#engine = engine;
    this.#rows = new ExampleRows(db, engine);
    this.#versions = new DatasetVersions(db, tokens);
  }

  async create(tenantId: string, drafts: readonly ExampleDraft[]): Promise<ExamplesWritten> {
    const datasets = await this.#readDatasets(tenantId, drafts);
    const { created, existing } = await this.#classifyDrafts(tenantId, drafts);
    const versions = new Map<string, VersionDraft>();
    for (const [id, dataset] of datasets) {
      const ofDataset = created.filter(({ datasetId }) => datasetId === id);
      this.#schemas.requireValid(dataset, ofDataset);
      if (ofDataset.length > 0) {
        const requested = ofDataset.reduce(
          (max, { createdMicros = 0 }) => Math.max(max, createdMicros),
          0,
        );
        const version = this.#beginVersion(dataset, requested);
        versions.set(id, version);
        await version.addAll(await this.#toRows(tenantId, ofDataset, version.micros));
      }
    }
    return this.#finishVersions(datasets, versions, existing);
  }

  async check(
    tenantId: string,
    datasetId: string,
    drafts: readonly ExampleDraft[],
  ): Promise<Readonly<Record<string, string>>> {
    return this.#schemas.findErrors(await this.#versions.read(tenantId, datasetId), drafts);
  }

  async update(
    tenantId: string,
    changes: readonly ExampleChange[],
    datasetId?: string,
  ): Promise<ExamplesWritten> {
    const ids = changes.map(({ id }) => id);
    const current = await this.#readCurrent(tenantId, ids, datasetId);
    const datasets = await this.#readDatasets(tenantId, [
      ...current.values(),
      ...changes.flatMap(({ datasetId: id }) => (id === undefined ? [] : [{ datasetId: id }])),
    ]);
    const versions = new Map<string, VersionDraft>();
    const versionOf = (dataset: Dataset): VersionDraft => {
      const version = versions.get(dataset.id) ?? this.#beginVersion(dataset);
      versions.set(dataset.id, version);
      return version;
    };
    for (const change of changes) {
      const example = current.get(change.id);
      const from = example && datasets.get(example.datasetId);
      const to = from && datasets.get(change.datasetId ?? from.id);
      const row = example && planChange({ example, change, tenantId });
      if (example !== undefined && from !== undefined && to !== undefined && row !== undefined) {
        this.#schemas.requireValid(to, [row]);
        const attachments = [...row.attachments];
        for (const file of change.attachments ?? []) {
          attachments.push(await this.#rows.attach(row, file));
        }
        await versionOf(from).end(example.key);
        const changed = { ...row, attachments, datasetId: to.id };
        const [added = example] = await versionOf(to).addAll([changed]);
        current.set(change.id, added);
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
    const rows: Omit<NewRow, "fromMicros">[] = [];
    for (const draft of drafts) {
      const { createdMicros = micros, runAttachments = [], isNew: _isNew, ...row } = draft;
      const hasFiles = runAttachments.length + (draft.attachments?.length ?? 0) > 0;
      const attachments = hasFiles ? await this.#attach(tenantId, draft) : [];
      rows.push({ ...row, tenantId, createdMicros, attachments });
    }
    return rows;
  }

  #beginVersion(dataset: Dataset, requestedMicros?: number): VersionDraft {
    const parts = { rows: this.#rows, versions: this.#versions, engine: this.#engine };
    return new VersionDraft(parts, dataset, requestedMicros);
  }

  async #finishVersions(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, VersionDraft>,
    existing: Readonly<Record<string, ExampleTimes>>,
  ): Promise<ExamplesWritten> {
    for (const version of versions.values()) {
      await version.finish();
    }
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.micros ?? versionMicros ?? createdMicros;
      return [id, { name, micros }] as const;
    });
    return { datasets: Object.fromEntries(entries), existing };
  }

  /** @throws RequestError 404: the tenant has no such dataset. */
  async #readDatasets(
    tenantId: string,
    examples: Iterable<{ readonly datasetId: string }>,
  ): Promise<Map<string, Dataset>> {
    const datasets = new Map<string, Dataset>();
    for (const { datasetId } of examples) {
      if (!datasets.has(datasetId)) {
        datasets.set(datasetId, await this.#versions.read(tenantId, datasetId));
      }
    }
    return datasets;
  }

  /** @throws RequestError 404: examples do not exist, or are in another dataset; the message lists their ids. */
  async #readCurrent(
    tenantId: string,
    ids: readonly string[],
    datasetId: string | undefined,
  ): Promise<Map<string, CurrentExample>> {
    const current = await this.#rows.findCurrent(tenantId, ids);
    const missing = ids.filter((id) => {
      const example = current.get(id);
      return example === undefined || (datasetId ?? example.datasetId) !== example.datasetId;
    });
    if (missing.length > 0) {
      throw new RequestError(404, `Example not found: ${nameIds(missing)}`);
    }
    return current;
  }

  /**
   * Separates drafts of new examples from identical ones that already exist.
   *
   * @throws RequestError 409: an example with the id exists and differs.
   */
  async #classifyDrafts(
    tenantId: string,
    drafts: readonly ExampleDraft[],
  ): Promise<{ created: ExampleDraft[]; existing: Record<string, ExampleTimes> }> {
    const withOwnId = drafts.filter(({ isNew }) => !isNew);
    const ids = withOwnId.map(({ id }) => id);
    const current = await this.#rows.findCurrent(tenantId, ids);
    const seen = new Map<string, ExampleDraft>();
    const existing: Record<string, ExampleTimes> = {};
    const conflicting: string[] = [];
    for (const draft of withOwnId) {
      const previous = seen.get(draft.id);
      seen.set(draft.id, previous ?? draft);
      const stored = current.get(draft.id);
      if (stored !== undefined) {
        const { createdMicros, modifiedMicros } = stored;
        existing[draft.id] = { createdMicros, modifiedMicros };
      }
      const differs =
        (previous !== undefined && !isSameContent(previous, draft)) ||
        (stored !== undefined && !(await this.#isStored(stored, draft)));
      if (differs) {
        conflicting.push(draft.id);
      }
    }
    if (conflicting.length > 0) {
      throw new RequestError(
        409,
        `different examples with these ids already exist: ${nameIds(conflicting)}`,
      );
    }
    const created = drafts.filter(
      (draft) => draft.isNew || (seen.get(draft.id) === draft && existing[draft.id] === undefined),
    );
    return { created, existing };
  }

  /** Whether a draft equals the stored example. */
  async #isStored(stored: CurrentExample, draft: ExampleDraft): Promise<boolean> {
    const matches = matchStored(stored, draft);
    for (const [file, bytes] of matches ?? []) {
      if (!(await this.#rows.hasBytes(file, bytes))) {
        return false;
      }
    }
    return matches !== undefined;
  }

  /**
   * Stores the attachments of an example.
   *
   * @throws RequestError 404: its run has no such attachment.
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
