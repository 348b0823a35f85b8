import { randomUUID } from "node:crypto";
import { stampToMicros } from "millrace/model";
import { mergeRecord, resolvePosition } from "../merge.ts";
import { defaultProjectName } from "../run-record.ts";
import type { RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import { createRowFacets } from "../facets.ts";
import type { SpanDependencies } from "../spans/span-writer.ts";
import type { StoredUsage } from "./run-columns.ts";

/** A run as it was stored before a batch. */
export interface StoredState {
  readonly row: RunRow;
  readonly rootMicros: number;
  readonly usage: StoredUsage | undefined;
  readonly facets: readonly string[];
}

/** A run after the records of a batch were merged into it. */
export interface MergedRun {
  readonly id: string;
  /** The run before the batch; absent if the batch created it. Its id differs if a span gave the run another id. */
  readonly stored: StoredState | undefined;
  readonly row: RunRow;
  readonly rootMicros: number;
  readonly facets: ReadonlySet<string>;
  /** The records of the batch that are not duplicates, in their order. */
  readonly added: readonly RunRecord[];
}

/** Those projects that the records of a batch name and that exist already. */
export interface NamedProjects {
  readonly idsByName: ReadonlyMap<string, string>;
  readonly ids: ReadonlySet<string>;
}

export type MergeResult = "accepted" | "duplicate" | { readonly reason: string };

/** The stored data that {@link BatchMerger} needs. */
export interface BatchContext {
  /** The stored runs that the batch changes or refers to. */
  readonly stored: ReadonlyMap<string, StoredState>;
  /** The digests of the stored payloads, by the id of their run. */
  readonly digests: ReadonlyMap<string, ReadonlySet<string>>;
  readonly projects: NamedProjects;
  readonly nowMicros: number;
}

/** A run while the batch is merged. */
interface RunState {
  readonly stored: StoredState | undefined;
  row: RunRow | undefined;
  readonly digests: Set<string>;
  facets: ReadonlySet<string>;
  readonly added: RunRecord[];
  /** Whether a span moved, changed or created the run, which must then be stored even without a record of its own. */
  isChangedBySpan: boolean;
}

/**
 * Merges the records of a batch into the runs of a tenant, in memory. The rules are those of `merge.ts`. The caller
 * holds the locks of the runs, so that no other transaction changes them before the caller writes the result.
 */
export class BatchMerger {
  readonly #context: BatchContext;
  readonly #states = new Map<string, RunState>();
  /** The ids assigned to projects that do not exist yet, by name. */
  readonly #newProjects = new Map<string, string>();
  /** Stored ids that the batch has freed: those of renamed runs and of removed placeholders. */
  readonly #freedIds = new Set<string>();
  readonly #removedPlaceholders: StoredState[] = [];
  readonly #facetSets = new FacetSets();

  constructor(context: BatchContext) {
    this.#context = context;
  }

  /** The projects to create: the ids that the merged rows contain, by name. */
  get newProjects(): ReadonlyMap<string, string> {
    return this.#newProjects;
  }

  /** The runs that changed. */
  listMerged(): readonly MergedRun[] {
    return [...this.#states].flatMap(([id, { stored, row, facets, added, isChangedBySpan }]) =>
      row === undefined || (added.length === 0 && !isChangedBySpan)
        ? []
        : [{ id, stored, row, rootMicros: this.#toRootMicros(row, stored), facets, added }],
    );
  }

  /**
   * The stored placeholders (runs that stand for a missing root span; see `span-writer.ts`) that must be deleted,
   * unless they have runs below them.
   */
  get removedPlaceholders(): readonly StoredState[] {
    return this.#removedPlaceholders;
  }

  findRow(id: string): RunRow | undefined {
    return this.#findRow(id);
  }

  /** Adds a run without a payload. */
  insertRow(row: RunRow): void {
    const state = this.#findOrCreateState(row.id);
    state.row = row;
    state.isChangedBySpan = true;
    state.facets = this.#facetSets.extend(state.facets, row, noFacets);
  }

  updateRow(id: string, changes: Partial<RunRow>): void {
    const state = this.#findOrCreateState(id);
    if (state.row !== undefined) {
      state.row = { ...state.row, ...changes };
      state.isChangedBySpan = true;
    }
  }

  /** Gives a run another id. */
  renameRow(id: string, newId: string): void {
    const state = this.#findOrCreateState(id);
    if (state.row !== undefined) {
      state.row = { ...state.row, id: newId };
      state.isChangedBySpan = true;
      this.#states.set(newId, state);
      this.#states.delete(id);
      this.#freedIds.add(id);
    }
  }

  /** Removes a placeholder, unless one of the runs that were read is below it. */
  removeRowIfEmpty(row: RunRow): void {
    const hasChild = [...this.#context.stored.keys(), ...this.#states.keys()].some((id) => {
      const child = this.#findRow(id);
      return child?.traceId === row.traceId && child.parentRunId === row.id;
    });
    if (!hasChild) {
      const { stored } = this.#findOrCreateState(row.id);
      this.#states.delete(row.id);
      this.#freedIds.add(row.id);
      if (stored !== undefined) {
        this.#removedPlaceholders.push(stored);
      }
    }
  }

  /** The projects of the tenant, for {@link SpanWriter}. */
  get projects(): SpanDependencies["projects"] {
    return {
      resolve: (_tenantId, columns) => this.#resolveProject({ columns }),
      resolveDefault: (_tenantId, { projectId, projectName }) =>
        typeof projectId === "string" || typeof projectName === "string"
          ? ""
          : this.#findOrAssign(defaultProjectName),
      belongsTo: () => true,
    };
  }

  /** Whether a run exists, in the database or in the batch. */
  has(id: string): boolean {
    return this.#findRow(id) !== undefined;
  }

  add(record: RunRecord): MergeResult {
    const state = this.#findOrCreateState(record.id);
    const position = resolvePosition(record, state.row, (id) => this.#findRow(id));
    if ("reason" in position) {
      return position;
    }
    if (record.operation === "post" && state.row?.posted === true) {
      return "duplicate";
    }
    const projectId = this.#resolveProject(record);
    if (typeof projectId === "object") {
      return projectId;
    }
    if (state.digests.has(record.digest)) {
      return "duplicate";
    }
    state.row = mergeRecord(state.row, record, {
      position,
      ...(projectId === undefined ? {} : { projectId }),
      defaultProjectId: state.row?.projectId ?? projectId ?? this.#findOrAssign(defaultProjectName),
      nowMicros: this.#context.nowMicros,
    });
    state.digests.add(record.digest);
    state.added.push(record);
    state.facets = this.#facetSets.extend(state.facets, state.row, record.facets);
    return "accepted";
  }

  #findOrCreateState(id: string): RunState {
    const existing = this.#states.get(id);
    if (existing !== undefined) {
      return existing;
    }
    const stored = this.#findStored(id);
    const state: RunState = {
      stored,
      row: stored?.row,
      digests: new Set(this.#context.digests.get(id)),
      facets: stored === undefined ? noFacetSet : new Set(stored.facets),
      added: [],
      isChangedBySpan: false,
    };
    this.#states.set(id, state);
    return state;
  }

  #findRow(id: string): RunRow | undefined {
    return (this.#states.get(id) ?? this.#findStored(id))?.row;
  }

  #findStored(id: string): StoredState | undefined {
    return this.#freedIds.has(id) ? undefined : this.#context.stored.get(id);
  }

  /** Like `RunProjects.resolve`. */
  #resolveProject({
    columns: { projectId, projectName },
  }: Pick<RunRecord, "columns">): string | undefined | { readonly reason: string } {
    if (typeof projectId === "string") {
      const isKnown =
        this.#context.projects.ids.has(projectId) ||
        [...this.#newProjects.values()].includes(projectId);
      return isKnown ? projectId : { reason: `session_id: there is no project ${projectId}` };
    }
    return typeof projectName === "string" ? this.#findOrAssign(projectName) : undefined;
  }

  #findOrAssign(name: string): string {
    const id = this.#context.projects.idsByName.get(name) ?? this.#newProjects.get(name);
    if (id !== undefined) {
      return id;
    }
    const newId = randomUUID();
    this.#newProjects.set(name, newId);
    return newId;
  }

  /**
   * The start time of the root. While the position of a run is unknown, the time at which the run arrived takes its
   * place.
   */
  #toRootMicros(row: RunRow, stored: StoredState | undefined): number {
    return readRootMicros(row.dottedOrder) ?? stored?.rootMicros ?? this.#context.nowMicros;
  }
}

const noFacets: readonly string[] = [];
const noFacetSet: ReadonlySet<string> = new Set();

/**
 * Creates the sets of facets of a batch. New runs with the same facets share a set. Results that depend only on the
 * facets can then be computed once for each set instead of once for each run: most batches have many runs and few sets.
 */
class FacetSets {
  /** The sets of facets of new runs, by the list of facets of the payload, and then by the type and name of the run. */
  readonly #shared = new Map<readonly string[], Map<string, ReadonlySet<string>>>();

  /** Returns the facets of a run after a record was added. */
  extend(
    facets: ReadonlySet<string>,
    row: RunRow,
    payloadFacets: readonly string[],
  ): ReadonlySet<string> {
    if (facets.size > 0) {
      return new Set([...facets, ...createRowFacets(row), ...payloadFacets]);
    }
    const sets = this.#shared.get(payloadFacets) ?? new Map<string, ReadonlySet<string>>();
    this.#shared.set(payloadFacets, sets);
    const key = `${row.runType.length} ${row.runType}${row.name}`;
    const shared = sets.get(key) ?? new Set([...createRowFacets(row), ...payloadFacets]);
    sets.set(key, shared);
    return shared;
  }
}

/** Length of the timestamp at the beginning of a dotted order. */
const stampLength = 22;

/**
 * Reads the start time of the root run, in microseconds, from the first segment of a dotted order; `undefined` if the
 * dotted order is empty.
 */
export const readRootMicros = (dottedOrder: string): number | undefined =>
  dottedOrder === "" ? undefined : stampToMicros(dottedOrder.slice(0, stampLength));
