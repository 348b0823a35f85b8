import { createHash } from "node:crypto";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import type { Dataset } from "../../dataset.ts";
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
import type { DatasetWriting } from "../../dataset-writing.ts";
import { changeExample, planChange } from "../example-change.ts";
import { ExampleStages } from "./example-stage.ts";
import type { ExampleStage } from "./example-stage.ts";
import type { CurrentExample } from "./example-table.ts";
import type { ExampleWriter } from "./example-writer.ts";
import { nameIds } from "./example-writer.ts";
import type { SchemaProofs } from "./schema-proofs.ts";
import { idOf } from "../../../storage/sqlite/tenant-keys.ts";

type Written = Packed<ExamplesWritten>;
type Steps<Result> = Generator<void, Result>;

/** A version that is being written: of which dataset, when, and how many more examples it has. */
interface Version {
  readonly dataset: Dataset;
  readonly micros: number;
  added: number;
}

/**
 * Writes many examples in slices: first all of them are looked at, then rows are staged, at last all are
 * published in one step. No other write of the tenant's to datasets comes in between.
 */
export class LargeExampleWriter implements LargeExampleWrites {
  readonly #dependencies: DatasetWriting;
  readonly #examples: ExampleWriter;
  readonly #stages: ExampleStages;

  constructor(dependencies: DatasetWriting, examples: ExampleWriter) {
    this.#dependencies = dependencies;
    this.#examples = examples;
    this.#stages = new ExampleStages(dependencies);
  }

  create(
    tenantId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): LongWrite<Written> {
    const toKeys = this.#keysOf(tenantId);
    const drafts = () => parts.map((part) => () => unpack(part).map(({ draft }) => toKeys(draft)));
    return this.#begin((schemas, open) => this.#create({ tenantId, drafts, schemas, open }));
  }

  import(
    tenantId: string,
    datasetId: string,
    parts: readonly Packed<readonly ReceivedExample[]>[],
  ): LongWrite<ExamplesImported> {
    const dataset = this.#dependencies.ledger.read(tenantId, datasetId);
    return this.#begin((schemas, open) =>
      this.#import({ tenantId, dataset, parts, schemas, open }),
    );
  }

  update(
    tenantId: string,
    parts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): LongWrite<Written> {
    const toKeys = this.#keysOf(tenantId);
    const taken = parts.map((part) => () => {
      const changes = unpack(part).map(toKeys);
      return this.#takeChanges(tenantId, changes);
    });
    return this.#begin((schemas, open) =>
      this.#update({ tenantId, parts: taken, schemas, open, datasetId }),
    );
  }

  updateSplits(
    tenantId: string,
    datasetId: string,
    { exampleIds, ...change }: SplitChange,
  ): LongWrite<readonly string[]> {
    this.#dependencies.ledger.read(tenantId, datasetId);
    const parts = toParts([...new Set(exampleIds)]).map((ids) => () => {
      const current = this.#dependencies.table.findCurrent(tenantId, ids);
      return { current, changes: ids.map((id) => changeSplits(id, current.get(id), change)) };
    });
    const changed: string[] = [];
    const onChange = (id: string): void => void changed.push(id);
    const dependencies = { tenantId, parts, datasetId, onChange };
    return this.#begin((schemas, open) =>
      resultOf(this.#update({ ...dependencies, schemas, open }), () => changed),
    );
  }

  /** Changes a dataset, and examples of it, at once. */
  updateWith(tenantId: string, given: DatasetUpdate): LongWrite<Dataset> {
    const { changes, dataset } = given;
    const parts = toParts(changes).map((part) => () => this.#takeChanges(tenantId, part));
    const dependencies = { tenantId, parts, datasetId: dataset.id, given };
    return this.#begin((schemas, open) =>
      resultOf(this.#update({ ...dependencies, schemas, open }), () =>
        this.#dependencies.ledger.read(tenantId, dataset.id),
      ),
    );
  }

  /** The key of the dataset that an example names by its id, in the place of that. */
  #keysOf(tenantId: string): <Named extends { datasetId?: string }>(one: Named) => Named {
    const found = new Map<string, string>();
    return (one) => {
      const { datasetId: id } = one;
      if (id === undefined) {
        return one;
      }
      const datasetId = found.get(id) ?? this.#dependencies.keys.keyOf("dataset", tenantId, id);
      found.set(id, datasetId);
      return datasetId === id ? one : { ...one, datasetId };
    };
  }

  #begin<Result>(
    make: (schemas: SchemaProofs, open: () => ExampleStage) => Steps<Result>,
  ): LongWrite<Result> {
    let stage: ExampleStage | undefined;
    const steps = make(this.#dependencies.schemas.fork(), () => (stage = this.#stages.begin()));
    return new LongWrite(steps, function* undo() {
      if (stage !== undefined) {
        yield* stage.erase();
      }
    });
  }

  *#create({ tenantId, drafts, schemas, open }: CreateContext): Steps<Written> {
    const found = yield* this.#sortOut({ tenantId, drafts, schemas });
    const { datasets, known, fresh } = found;
    const versions = new Map<string, Version>();
    for (const [id, micros] of found.saidMicros) {
      this.#beginVersion(versions, readFrom(datasets, id), micros);
    }
    const stage = open();
    for (const part of drafts()) {
      const keys = new Map<Version, number[]>();
      for (const draft of part()) {
        const version = versions.get(draft.datasetId);
        // Of an id that is there twice the first one is taken.
        if (version !== undefined && (draft.isNew || fresh.delete(draft.id))) {
          const { createdMicros = version.micros, runAttachments: _names, ...row } = draft;
          const { isNew: _isNew, attachments: _files, ...content } = row;
          const key = stage.add({
            ...content,
            tenantId,
            createdMicros,
            fromMicros: version.micros,
            attachments: this.#examples.attach(tenantId, draft),
          });
          version.added += 1;
          addTo(keys, version, key);
        }
      }
      this.#endPart(stage, keys);
      yield;
    }
    stage.publish();
    return this.#finish(datasets, versions, known);
  }

  *#import({ dataset, parts, schemas, ...dependencies }: ImportContext): Steps<ExamplesImported> {
    const rejected: Record<string, string> = {};
    let count = 0;
    const readPart = (part: Packed<readonly ReceivedExample[]>): readonly ExampleDraft[] =>
      unpack(part).map(({ draft }) => ({ ...draft, datasetId: dataset.id }));
    for (const part of parts) {
      const drafts = readPart(part);
      count += drafts.length;
      Object.assign(rejected, schemas.findMisfits(dataset, drafts));
      yield;
    }
    schemas.assertProved();
    const drafts = () =>
      parts.map((part) => () => readPart(part).filter(({ id }) => rejected[id] === undefined));
    const written = unpack(yield* this.#create({ ...dependencies, drafts }));
    return { ...written, count: count - Object.keys(rejected).length, rejected };
  }

  /** Looks at all of them, and has them checked; writes nothing. */
  *#sortOut({ tenantId, drafts, schemas }: Omit<CreateContext, "open">): Steps<Sorted> {
    const datasets = new Map<string, Dataset>();
    const known: Record<string, ExampleTimes> = {};
    const saidMicros = new Map<string, number>();
    const digests = new Map<string, string>();
    const fresh = new Set<string>();
    const taken: string[] = [];
    for (const part of drafts()) {
      const own = new Map<string, ExampleDraft[]>();
      const all = part();
      const named = all.filter(({ isNew }) => !isNew).map(({ id }) => id);
      const current = this.#dependencies.table.findCurrent(tenantId, named);
      for (const draft of all) {
        const { id, datasetId, createdMicros = 0 } = draft;
        this.#readDataset(datasets, tenantId, datasetId);
        const stored = draft.isNew ? undefined : current.get(id);
        if (!draft.isNew) {
          const digest = digestOf(draft);
          const before = digests.get(id);
          if (before === undefined) {
            digests.set(id, digest);
          } else if (before !== digest) {
            taken.push(id);
          }
          if (stored !== undefined) {
            const times = {
              createdMicros: stored.createdMicros,
              modifiedMicros: stored.modifiedMicros,
            };
            known[id] = times;
            if (!this.#examples.isStored(stored, draft)) {
              taken.push(id);
            }
          }
          if (before !== undefined || stored !== undefined) {
            continue;
          }
          fresh.add(id);
        }
        saidMicros.set(datasetId, Math.max(saidMicros.get(datasetId) ?? 0, createdMicros));
        const list = own.get(datasetId) ?? [];
        list.push(draft);
        own.set(datasetId, list);
      }
      own.forEach((list, id) => schemas?.assertFit(readFrom(datasets, id), list));
      yield;
    }
    if (taken.length > 0) {
      throw new RequestError(
        409,
        `there are examples of these ids that are not the same: ${nameIds(taken)}`,
      );
    }
    schemas?.assertProved();
    return { datasets, known, saidMicros, fresh };
  }

  /** Has checked what a dataset holds, but for the examples that are changed: those are checked as they become. */
  *#checkOthers({ dataset, changes }: DatasetUpdate, schemas: SchemaProofs): Steps<void> {
    const changed = new Set(changes.map(({ id }) => id));
    for (const part of this.#dependencies.table.listCurrent(
      dataset.id,
      serverLimits.examplesPart,
    )) {
      schemas.assertFit(
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
    given,
    onChange,
  }: UpdateContext): Steps<Written> {
    const datasets = new Map<string, Dataset>();
    if (given !== undefined) {
      datasets.set(given.dataset.id, given.dataset);
      schemas.assertSchemas(given.dataset);
      if (given.mustCheck) {
        yield* this.#checkOthers(given, schemas);
      }
    }
    const touched = new Set<string>();
    const seen = new Set<string>();
    const missing: string[] = [];
    for (const part of parts) {
      const fitting = new Map<string, { id: string; inputs: string; outputs: string | null }[]>();
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
          const list = fitting.get(to) ?? [];
          list.push(row);
          fitting.set(to, list);
        }
      }
      fitting.forEach((list, id) => schemas.assertFit(readFrom(datasets, id), list));
      yield;
    }
    if (missing.length > 0) {
      throw new RequestError(404, `Example not found: ${nameIds(missing)}`);
    }
    schemas.assertProved();
    const versions = new Map<string, Version>();
    touched.forEach((id) => this.#beginVersion(versions, readFrom(datasets, id)));
    const stage = open();
    const ended = new Map<Version, number[]>();
    for (const part of parts) {
      const keys = new Map<Version, number[]>();
      const { changes, current } = part();
      for (const change of changes) {
        const example = current.get(change.id);
        const row =
          example && changeExample({ example, change, tenantId, table: this.#dependencies.table });
        const from = example && versions.get(example.datasetId);
        const to = row && versions.get(row.datasetId);
        if (example !== undefined && row !== undefined && from !== undefined && to !== undefined) {
          const key = stage.add({ ...row, fromMicros: to.micros });
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
    given?.store();
    ended.forEach((keys, { micros }) => this.#dependencies.table.endAll(keys, micros));
    stage.publish();
    const written = this.#finish(datasets, versions, {});
    // A search finds no row that is not so any more: its words may go later.
    for (const [{ dataset }, keys] of ended) {
      for (let at = 0; at < keys.length; at += serverLimits.examplesPart) {
        yield;
        const removed = keys.slice(at, at + serverLimits.examplesPart);
        this.#dependencies.index.change(dataset, { added: [], removed });
      }
    }
    return written;
  }

  #takeChanges(tenantId: string, changes: readonly ExampleChange[]): Changes {
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
        `the examples are of more than ${serverLimits.datasetsOfWrite} datasets; send less in one request`,
      );
    }
    datasets.set(id, this.#dependencies.ledger.read(tenantId, id));
  }

  #beginVersion(versions: Map<string, Version>, dataset: Dataset, saidMicros?: number): void {
    const micros = this.#dependencies.ledger.nextVersion(dataset, saidMicros);
    versions.set(dataset.id, { dataset, micros, added: 0 });
  }

  #finish(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, Version>,
    known: Readonly<Record<string, ExampleTimes>>,
  ): Written {
    for (const { dataset, micros, added } of versions.values()) {
      this.#dependencies.ledger.addVersion(dataset, micros, added);
    }
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.micros ?? versionMicros ?? createdMicros;
      return [idOf(id), { name, micros }] as const;
    });
    return pack({ datasets: Object.fromEntries(entries), known });
  }
}

interface CreateContext {
  readonly tenantId: string;
  /** The drafts of each part, made anew whenever they are asked for. */
  readonly drafts: () => readonly (() => readonly ExampleDraft[])[];
  /** Left out where they were checked before. */
  readonly schemas?: SchemaProofs | undefined;
  readonly open: () => ExampleStage;
}

interface ImportContext extends Omit<CreateContext, "drafts"> {
  readonly schemas: SchemaProofs;
  readonly dataset: Dataset;
  readonly parts: readonly Packed<readonly ReceivedExample[]>[];
}

interface UpdateContext extends Omit<CreateContext, "drafts"> {
  readonly schemas: SchemaProofs;
  readonly parts: readonly (() => Changes)[];
  /** The one that all of them are in. */
  readonly datasetId: string | undefined;
  /** How that one is changed too. */
  readonly given?: DatasetUpdate;
  /** With the id of each example that is another one now. */
  readonly onChange?: (id: string) => void;
}

/** Some changes, and the examples as they are now. */
interface Changes {
  readonly changes: readonly ExampleChange[];
  readonly current: ReadonlyMap<string, CurrentExample>;
}

/** A change of a dataset, and of examples of it. */
interface DatasetUpdate {
  /** What it becomes. */
  readonly dataset: Dataset;
  readonly changes: readonly ExampleChange[];
  /** Whether all of its examples are to fit its schemas, which are others now. */
  readonly mustCheck: boolean;
  /** Writes the dataset; called in the step that publishes the examples. */
  readonly store: () => void;
}

interface Sorted {
  readonly datasets: ReadonlyMap<string, Dataset>;
  /** Examples that are there already, the same. */
  readonly known: Readonly<Record<string, ExampleTimes>>;
  /** By dataset that is written to: the last time that its examples name. */
  readonly saidMicros: ReadonlyMap<string, number>;
  /** Ids that the sender chose and that are to be written. */
  readonly fresh: Set<string>;
}

/** The same steps with another result, which is made at their end. */
function* resultOf<Result>(steps: Steps<unknown>, read: () => Result): Steps<Result> {
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

/** Puts an example into a split, or takes it out; changes nothing of one that is as it should be. */
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

function addTo(keys: Map<Version, number[]>, version: Version, key: number): void {
  const list = keys.get(version) ?? [];
  list.push(key);
  keys.set(version, list);
}

function assertOnce(seen: Set<string>, id: string): void {
  if (seen.has(id)) {
    throw new RequestError(422, `example ${id} is in the list twice`);
  }
  seen.add(id);
}

/** Of all that makes two drafts of one id the same. */
function digestOf(draft: ExampleDraft): string {
  const { datasetId, sourceRunId, inputs, outputs, metadata } = draft;
  return createHash("sha256")
    .update(JSON.stringify([datasetId, sourceRunId, inputs, outputs, metadata]))
    .digest("base64url");
}
