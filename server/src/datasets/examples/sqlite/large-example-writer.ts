import { createHash } from "node:crypto";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import type { Dataset, DatasetUpdate } from "../../dataset.ts";
import { datasetQueries } from "../../dataset-queries.ts";
import { toWrittenColumns } from "../../dataset-row.ts";
import { chooseVersionTime } from "../../dataset-version.ts";
import { splitsOf } from "../splits.ts";
import type {
  ExampleChange,
  ExampleDraft,
  ExamplesImported,
  ExamplesWritten,
  ExampleTimes,
  SplitChange,
} from "../example.ts";
import { pack, unpack } from "../large-examples.ts";
import type { LargeExampleWrites, Packed, ReceivedExample } from "../large-examples.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { WithLongWrites } from "../../../storage/long-write.ts";
import { prepareQuery } from "../../../storage/sqlite/sqlite-database.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import { planChange } from "../example-change.ts";
import { ExampleStages } from "./example-stage.ts";
import type { ExampleStage } from "./example-stage.ts";
import { nameIds } from "../example-rows.ts";
import type { CurrentExample } from "../example-rows.ts";
import type { SchemaChecks } from "../schemas/schema-checks.ts";
import { idOf } from "../../../storage/row-keys.ts";

type Written = Packed<ExamplesWritten>;
type Steps<Result> = Generator<void, Result>;

/** A version that is being written, for one dataset. `added` is the change in the number of examples. */
interface Version {
  readonly dataset: Dataset;
  readonly micros: number;
  added: number;
}

/** What the writer thread calls: every write is performed in slices. */
export type LargeExampleWriteSteps = WithLongWrites<LargeExampleWrites, keyof LargeExampleWrites>;

/**
 * Writes many examples in slices: first all of them are checked, then rows are staged, and finally all are published
 * in one step. No other write to the tenant's datasets runs in between.
 */
export class LargeExampleWriter implements LargeExampleWriteSteps {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #stages: ExampleStages;
  readonly #updateDataset;

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
    this.#stages = new ExampleStages(dependencies);
    this.#updateDataset = prepareQuery(dependencies.db, datasetQueries.update);
  }

  async create(
    tenantId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<LongWrite<Written>> {
    const toKeys = this.#keysOf(tenantId);
    const drafts = () => parts.map((part) => () => unpack(part).map(({ draft }) => toKeys(draft)));
    return this.#begin((schemas, open) => this.#create({ tenantId, drafts, schemas, open }));
  }

  async import(
    tenantId: string,
    datasetId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<LongWrite<ExamplesImported>> {
    const dataset = this.#dependencies.versions.read(tenantId, datasetId);
    return this.#begin((schemas, open) =>
      this.#import({ tenantId, dataset, parts, schemas, open }),
    );
  }

  async update(
    tenantId: string,
    parts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): Promise<LongWrite<Written>> {
    const toKeys = this.#keysOf(tenantId);
    const changeParts = parts.map((part) => () => {
      const changes = unpack(part).map(toKeys);
      return this.#resolveChanges(tenantId, changes);
    });
    return this.#begin((schemas, open) =>
      this.#update({ tenantId, parts: changeParts, schemas, open, datasetId }),
    );
  }

  async updateSplits(
    tenantId: string,
    datasetId: string,
    { exampleIds, ...change }: SplitChange,
  ): Promise<LongWrite<readonly string[]>> {
    this.#dependencies.versions.read(tenantId, datasetId);
    const parts = toParts([...new Set(exampleIds)]).map((ids) => () => {
      const current = this.#dependencies.table.findCurrent(tenantId, ids);
      return { current, changes: ids.map((id) => changeSplits(id, current.get(id), change)) };
    });
    const changed: string[] = [];
    const onChange = (id: string): void => void changed.push(id);
    const dependencies = { tenantId, parts, datasetId, onChange };
    return this.#begin((schemas, open) =>
      withResult(this.#update({ ...dependencies, schemas, open }), () => changed),
    );
  }

  /** Updates a dataset and some of its examples in one write. */
  updateWith(tenantId: string, datasetUpdate: DatasetUpdate): LongWrite<Dataset> {
    const { changes, dataset } = datasetUpdate;
    const parts = toParts(changes).map((part) => () => this.#resolveChanges(tenantId, part));
    const dependencies = { tenantId, parts, datasetId: dataset.id, datasetUpdate };
    return this.#begin((schemas, open) =>
      withResult(this.#update({ ...dependencies, schemas, open }), () =>
        this.#dependencies.versions.read(tenantId, dataset.id),
      ),
    );
  }

  /** Returns a function that replaces the dataset id in an object with the dataset's key. */
  #keysOf(tenantId: string): <Item extends { datasetId?: string }>(item: Item) => Item {
    const found = new Map<string, string>();
    return (item) => {
      const { datasetId: id } = item;
      if (id === undefined) {
        return item;
      }
      const datasetId = found.get(id) ?? this.#dependencies.keys.keyOf("dataset", tenantId, id);
      found.set(id, datasetId);
      return datasetId === id ? item : { ...item, datasetId };
    };
  }

  #begin<Result>(
    createSteps: (schemas: SchemaChecks, open: () => ExampleStage) => Steps<Result>,
  ): LongWrite<Result> {
    let stage: ExampleStage | undefined;
    const steps = createSteps(
      this.#dependencies.schemas.copy(),
      () => (stage = this.#stages.begin()),
    );
    return new LongWrite(steps, function* undo() {
      if (stage !== undefined) {
        yield* stage.erase();
      }
    });
  }

  *#create({ tenantId, drafts, schemas, open }: CreateContext): Steps<Written> {
    const classified = yield* this.#classifyDrafts({ tenantId, drafts, schemas });
    const { datasets, existing, newIds } = classified;
    const versions = new Map<string, Version>();
    for (const [id, micros] of classified.requestedMicros) {
      this.#beginVersion(versions, readFrom(datasets, id), micros);
    }
    const stage = open();
    for (const part of drafts()) {
      const keys = new Map<Version, number[]>();
      for (const draft of part()) {
        const version = versions.get(draft.datasetId);
        // Of several drafts with the same id only the first is stored.
        if (version !== undefined && (draft.isNew || newIds.delete(draft.id))) {
          const { createdMicros = version.micros, runAttachments: _names, ...row } = draft;
          const { isNew: _isNew, attachments: _files, ...content } = row;
          const key = stage.add({
            ...content,
            tenantId,
            createdMicros,
            fromMicros: version.micros,
            attachments: this.#dependencies.table.attachAll(tenantId, draft),
          });
          version.added += 1;
          addTo(keys, version, key);
        }
      }
      this.#endPart(stage, keys);
      yield;
    }
    stage.publish();
    return this.#finish(datasets, versions, existing);
  }

  *#import({ dataset, parts, schemas, ...dependencies }: ImportContext): Steps<ExamplesImported> {
    const rejected: Record<string, string> = {};
    let count = 0;
    const readPart = (part: Packed<readonly ReceivedExample[]>): readonly ExampleDraft[] =>
      unpack(part).map(({ draft }) => ({ ...draft, datasetId: dataset.id }));
    for (const part of parts) {
      const drafts = readPart(part);
      count += drafts.length;
      Object.assign(rejected, schemas.findErrors(dataset, drafts));
      yield;
    }
    schemas.assertNoneMissing();
    const drafts = () =>
      parts.map((part) => () => readPart(part).filter(({ id }) => rejected[id] === undefined));
    const written = unpack(yield* this.#create({ ...dependencies, drafts }));
    return { ...written, count: count - Object.keys(rejected).length, rejected };
  }

  /** Checks all drafts, including their schemas; writes nothing. */
  *#classifyDrafts({
    tenantId,
    drafts,
    schemas,
  }: Omit<CreateContext, "open">): Steps<ClassifiedDrafts> {
    const datasets = new Map<string, Dataset>();
    const existing: Record<string, ExampleTimes> = {};
    const requestedMicros = new Map<string, number>();
    const digests = new Map<string, string>();
    const newIds = new Set<string>();
    const conflicting: string[] = [];
    for (const part of drafts()) {
      const byDataset = new Map<string, ExampleDraft[]>();
      const all = part();
      const clientIds = all.filter(({ isNew }) => !isNew).map(({ id }) => id);
      const current = this.#dependencies.table.findCurrent(tenantId, clientIds);
      for (const draft of all) {
        const { id, datasetId, createdMicros = 0 } = draft;
        this.#readDataset(datasets, tenantId, datasetId);
        const stored = draft.isNew ? undefined : current.get(id);
        if (!draft.isNew) {
          const digest = digestOf(draft);
          const previous = digests.get(id);
          if (previous === undefined) {
            digests.set(id, digest);
          } else if (previous !== digest) {
            conflicting.push(id);
          }
          if (stored !== undefined) {
            const times = {
              createdMicros: stored.createdMicros,
              modifiedMicros: stored.modifiedMicros,
            };
            existing[id] = times;
            if (!this.#dependencies.table.isStored(stored, draft)) {
              conflicting.push(id);
            }
          }
          if (previous !== undefined || stored !== undefined) {
            continue;
          }
          newIds.add(id);
        }
        requestedMicros.set(
          datasetId,
          Math.max(requestedMicros.get(datasetId) ?? 0, createdMicros),
        );
        const list = byDataset.get(datasetId) ?? [];
        list.push(draft);
        byDataset.set(datasetId, list);
      }
      byDataset.forEach((list, id) => schemas?.requireValid(readFrom(datasets, id), list));
      yield;
    }
    if (conflicting.length > 0) {
      throw new RequestError(
        409,
        `different examples with these ids already exist: ${nameIds(conflicting)}`,
      );
    }
    schemas?.assertNoneMissing();
    return { datasets, existing, requestedMicros, newIds };
  }

  /** Checks the schemas of the dataset's other examples; the changed ones are checked with their new content. */
  *#checkOthers({ dataset, changes }: DatasetUpdate, schemas: SchemaChecks): Steps<void> {
    const changed = new Set(changes.map(({ id }) => id));
    for (const part of this.#dependencies.table.listCurrent(
      dataset.id,
      serverLimits.examplesPart,
    )) {
      schemas.requireValid(
        dataset,
        part.filter(({ id }) => !changed.has(id)),
      );
      yield;
    }
  }

  *#update({
    tenantId,
    parts,
    schemas,
    open,
    datasetId,
    datasetUpdate,
    onChange,
  }: UpdateContext): Steps<Written> {
    const datasets = new Map<string, Dataset>();
    if (datasetUpdate !== undefined) {
      datasets.set(datasetUpdate.dataset.id, datasetUpdate.dataset);
      schemas.requireValidSchemas(datasetUpdate.dataset);
      if (datasetUpdate.mustCheck) {
        yield* this.#checkOthers(datasetUpdate, schemas);
      }
    }
    const touched = new Set<string>();
    const seen = new Set<string>();
    const missing: string[] = [];
    for (const part of parts) {
      const rowsByDataset = new Map<
        string,
        { id: string; inputs: string; outputs: string | null }[]
      >();
      const { changes, current } = part();
      for (const change of changes) {
        assertOnce(seen, change.id);
        const example = current.get(change.id);
        if (example === undefined || (datasetId ?? example.datasetId) !== example.datasetId) {
          missing.push(change.id);
          continue;
        }
        this.#readDataset(datasets, tenantId, example.datasetId);
        const to = change.datasetId ?? example.datasetId;
        this.#readDataset(datasets, tenantId, to);
        const row = planChange({ example, change, tenantId });
        if (row !== undefined) {
          touched.add(example.datasetId).add(to);
          const list = rowsByDataset.get(to) ?? [];
          list.push(row);
          rowsByDataset.set(to, list);
        }
      }
      rowsByDataset.forEach((list, id) => schemas.requireValid(readFrom(datasets, id), list));
      yield;
    }
    if (missing.length > 0) {
      throw new RequestError(404, `Example not found: ${nameIds(missing)}`);
    }
    schemas.assertNoneMissing();
    const versions = new Map<string, Version>();
    touched.forEach((id) => this.#beginVersion(versions, readFrom(datasets, id)));
    const stage = open();
    const ended = new Map<Version, number[]>();
    for (const part of parts) {
      const keys = new Map<Version, number[]>();
      const { changes, current } = part();
      for (const change of changes) {
        const example = current.get(change.id);
        const row = example && planChange({ example, change, tenantId });
        const from = example && versions.get(example.datasetId);
        const to = row && versions.get(row.datasetId);
        if (example !== undefined && row !== undefined && from !== undefined && to !== undefined) {
          const files = (change.attachments ?? []).map((file) =>
            this.#dependencies.table.attach(row, file),
          );
          const attachments = [...row.attachments, ...files];
          const key = stage.add({ ...row, attachments, fromMicros: to.micros });
          to.added += 1;
          from.added -= 1;
          addTo(keys, to, key);
          addTo(ended, from, example.key);
          onChange?.(change.id);
        }
      }
      this.#endPart(stage, keys);
      yield;
    }
    if (datasetUpdate !== undefined) {
      const { dataset } = datasetUpdate;
      const columns = { ...toWrittenColumns(dataset), modified_us: Date.now() * 1_000 };
      this.#updateDataset.run({ id: dataset.id, ...columns });
    }
    ended.forEach((keys, { micros }) => this.#dependencies.table.endAll(keys, micros));
    stage.publish();
    const written = this.#finish(datasets, versions, {});
    // A search ignores rows that have ended, so their index entries can be removed after the write took effect.
    for (const [{ dataset }, keys] of ended) {
      for (let at = 0; at < keys.length; at += serverLimits.examplesPart) {
        yield;
        const removed = keys.slice(at, at + serverLimits.examplesPart);
        this.#dependencies.index.change(dataset, { added: [], removed });
      }
    }
    return written;
  }

  #resolveChanges(tenantId: string, changes: readonly ExampleChange[]): Changes {
    const ids = changes.map(({ id }) => id);
    return { changes, current: this.#dependencies.table.findCurrent(tenantId, ids) };
  }

  #endPart(stage: ExampleStage, keys: ReadonlyMap<Version, readonly number[]>): void {
    stage.pause();
    keys.forEach((added, { dataset }) =>
      this.#dependencies.index.change(dataset, { added, removed: [] }),
    );
  }

  #readDataset(datasets: Map<string, Dataset>, tenantId: string, id: string): void {
    if (datasets.has(id)) {
      return;
    }
    if (datasets.size === serverLimits.datasetsOfWrite) {
      throw new RequestError(
        413,
        `the examples belong to more than ${serverLimits.datasetsOfWrite} datasets; send fewer in one request`,
      );
    }
    datasets.set(id, this.#dependencies.versions.read(tenantId, id));
  }

  #beginVersion(versions: Map<string, Version>, dataset: Dataset, requestedMicros?: number): void {
    const micros = chooseVersionTime(dataset.versionMicros, requestedMicros);
    versions.set(dataset.id, { dataset, micros, added: 0 });
  }

  #finish(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, Version>,
    existing: Readonly<Record<string, ExampleTimes>>,
  ): Written {
    for (const { dataset, micros, added } of versions.values()) {
      this.#dependencies.versions.addVersion(dataset, micros, added);
    }
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.micros ?? versionMicros ?? createdMicros;
      return [idOf(id), { name, micros }] as const;
    });
    return pack({ datasets: Object.fromEntries(entries), existing });
  }
}

interface CreateContext {
  readonly tenantId: string;
  /**
   * Functions that unpack the drafts of each part; called again for each pass, so that not all drafts are in memory
   * at once.
   */
  readonly drafts: () => readonly (() => readonly ExampleDraft[])[];
  /** Omitted if the drafts were already checked. */
  readonly schemas?: SchemaChecks | undefined;
  readonly open: () => ExampleStage;
}

interface ImportContext extends Omit<CreateContext, "drafts"> {
  readonly schemas: SchemaChecks;
  readonly dataset: Dataset;
  readonly parts: readonly Packed<readonly ReceivedExample[]>[];
}

interface UpdateContext extends Omit<CreateContext, "drafts"> {
  readonly schemas: SchemaChecks;
  readonly parts: readonly (() => Changes)[];
  /** The dataset that must contain all of the examples. */
  readonly datasetId: string | undefined;
  /** A change to that dataset in the same write. */
  readonly datasetUpdate?: DatasetUpdate;
  /** Called with the id of each example that changed. */
  readonly onChange?: (id: string) => void;
}

/** Some changes, and the current state of their examples. */
interface Changes {
  readonly changes: readonly ExampleChange[];
  readonly current: ReadonlyMap<string, CurrentExample>;
}

interface ClassifiedDrafts {
  readonly datasets: ReadonlyMap<string, Dataset>;
  /** Identical examples that already exist. */
  readonly existing: Readonly<Record<string, ExampleTimes>>;
  /** For each dataset with new examples: the latest time that those examples request. */
  readonly requestedMicros: ReadonlyMap<string, number>;
  /** Ids chosen by the client for examples to create. */
  readonly newIds: Set<string>;
}

/** Runs the steps and returns another result, which is read at the end. */
function* withResult<Result>(steps: Steps<unknown>, read: () => Result): Steps<Result> {
  yield* steps;
  return read();
}

function toParts<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const parts: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += serverLimits.examplesPart) {
    parts.push(items.slice(at, at + serverLimits.examplesPart));
  }
  return parts;
}

/** Adds an example to a split or removes it; returns an empty change if nothing would change. */
function changeSplits(
  id: string,
  example: CurrentExample | undefined,
  { name, isRemoval }: Omit<SplitChange, "exampleIds">,
): ExampleChange {
  const splits = example === undefined ? [] : splitsOf(example.metadata);
  const others = splits.filter((split) => split !== name);
  if (others.length < splits.length !== isRemoval) {
    return { id };
  }
  return { id, splits: isRemoval ? others : [...splits, name] };
}

function readFrom(datasets: ReadonlyMap<string, Dataset>, id: string): Dataset {
  const dataset = datasets.get(id);
  if (dataset === undefined) {
    throw new RequestError(404, "Dataset not found");
  }
  return dataset;
}

function addTo(keysByVersion: Map<Version, number[]>, version: Version, key: number): void {
  const list = keysByVersion.get(version) ?? [];
  list.push(key);
  keysByVersion.set(version, list);
}

function assertOnce(seen: Set<string>, id: string): void {
  if (seen.has(id)) {
    throw new RequestError(422, `example ${id} occurs twice in the list`);
  }
  seen.add(id);
}

/** A digest of the content that two drafts with the same id must share. */
function digestOf(draft: ExampleDraft): string {
  const { datasetId, sourceRunId, inputs, outputs, metadata } = draft;
  return createHash("sha256")
    .update(JSON.stringify([datasetId, sourceRunId, inputs, outputs, metadata]))
    .digest("base64url");
}
