import { randomUUID } from "node:crypto";
import { stampToMicros } from "millrace/model";
import { mergeRecord, resolvePosition } from "../merge.ts";
import { defaultProjectName } from "../run-record.ts";
import type { RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import { createRowFacets } from "../facets.ts";
import type { StoredUsage } from "./run-columns.ts";

/** A run as it was stored before a batch. */
export interface StoredState {
  readonly row: RunRow;
  readonly rootMicros: number;
  readonly usage: StoredUsage | undefined;
  readonly facets: readonly string[];
}

/** What a batch makes of a run. */
export interface MergedRun {
  readonly id: string;
  readonly stored: StoredState | undefined;
  readonly row: RunRow;
  readonly rootMicros: number;
  readonly facets: ReadonlySet<string>;
  /** The records of the batch that are not duplicates, in their order. */
  readonly added: readonly RunRecord[];
}

/** The projects of a tenant that the records of a batch name, as far as they exist. */
export interface NamedProjects {
  readonly idsByName: ReadonlyMap<string, string>;
  readonly ids: ReadonlySet<string>;
}

export type MergeResult = "accepted" | "duplicate" | { readonly reason: string };

/** What the merger needs to know of the stored runs. */
export interface BatchContext {
  /** The stored runs that the batch changes or refers to. */
  readonly stored: ReadonlyMap<string, StoredState>;
  /** The digests of the payloads that are stored for the runs of the batch, by run. */
  readonly digests: ReadonlyMap<string, ReadonlySet<string>>;
  readonly projects: NamedProjects;
  readonly nowMicros: number;
}

interface RunState {
  readonly stored: StoredState | undefined;
  row: RunRow | undefined;
  readonly digests: Set<string>;
  readonly facets: Set<string>;
  readonly added: RunRecord[];
}

/**
 * Merges the records of a batch into the runs of a tenant, in memory. The rules are those of `merge.ts`. The caller
 * holds the locks of the runs, so that what it has read stays true until it writes the result.
 */
export class BatchMerger {
  readonly #context: BatchContext;
  readonly #states = new Map<string, RunState>();
  /** The ids of projects that are missing, by name. */
  readonly #newProjects = new Map<string, string>();

  constructor(context: BatchContext) {
    this.#context = context;
  }

  /** The projects that must be created, with the ids that the merged rows contain. */
  get newProjects(): ReadonlyMap<string, string> {
    return this.#newProjects;
  }

  /** The runs that changed. */
  listMerged(): readonly MergedRun[] {
    return [...this.#states].flatMap(([id, { stored, row, facets, added }]) =>
      row === undefined || added.length === 0
        ? []
        : [{ id, stored, row, rootMicros: this.#toRootMicros(row, stored), facets, added }],
    );
  }

  /** Whether a run exists, in the database or in the batch. */
  has(id: string): boolean {
    return this.#findRow(id) !== undefined;
  }

  add(record: RunRecord): MergeResult {
    const state = this.#findState(record.id);
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
    for (const facet of [...createRowFacets(state.row), ...record.facets]) {
      state.facets.add(facet);
    }
    return "accepted";
  }

  #findState(id: string): RunState {
    const existing = this.#states.get(id);
    if (existing !== undefined) {
      return existing;
    }
    const stored = this.#context.stored.get(id);
    const state: RunState = {
      stored,
      row: stored?.row,
      digests: new Set(this.#context.digests.get(id)),
      facets: new Set(stored?.facets),
      added: [],
    };
    this.#states.set(id, state);
    return state;
  }

  #findRow(id: string): RunRow | undefined {
    return (this.#states.get(id) ?? this.#context.stored.get(id))?.row;
  }

  /** Like `RunProjects.resolve`. */
  #resolveProject({ columns }: RunRecord): string | undefined | { readonly reason: string } {
    const { projectId, projectName } = columns;
    if (typeof projectId === "string") {
      return this.#context.projects.ids.has(projectId)
        ? projectId
        : { reason: `session_id: there is no project ${projectId}` };
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

  /** The start of the root. While the position of a run is unknown, it is the time at which the run arrived. */
  #toRootMicros(row: RunRow, stored: StoredState | undefined): number {
    return readRootMicros(row.dottedOrder) ?? stored?.rootMicros ?? this.#context.nowMicros;
  }
}

const stampLength = 22;

/** The start of the root, which the first segment of a dotted order contains; `undefined` if it is not known. */
export const readRootMicros = (dottedOrder: string): number | undefined =>
  dottedOrder === "" ? undefined : stampToMicros(dottedOrder.slice(0, stampLength));
