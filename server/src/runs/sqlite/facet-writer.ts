import { blockMicros, facetsOfRow } from "../facets.ts";
import type { RunRow } from "../run-row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

type FacetedRow = Pick<RunRow, "projectId" | "startMicros" | "name" | "runType">;

/** Notes the facets of runs. */
export class FacetWriter {
  readonly #insert;
  /** What this batch has written, by block and project: what most of its runs have is written once. */
  readonly #written = new Map<string, Written>();
  /** The run before; the next one often has all of it. */
  #last: Noted | undefined;

  constructor(db: Connection) {
    this.#insert = db.prepare("INSERT OR IGNORE INTO run_facets VALUES (?, ?, ?)");
  }

  /** Before each batch: rows of an earlier one may have been undone, or deleted. */
  begin(): void {
    this.#written.clear();
    this.#last = undefined;
  }

  /** Name and type of a run, and what its payload gives it. */
  add({ projectId, startMicros, name, runType }: FacetedRow, facets: readonly string[]): void {
    const block = Math.floor(startMicros / blockMicros);
    const last = this.#last;
    if (
      last !== undefined &&
      last.block === block &&
      last.facets === facets &&
      last.name === name &&
      last.runType === runType &&
      last.projectId === projectId
    ) {
      return;
    }
    this.#last = { block, facets, name, runType, projectId };
    const key = `${block} ${projectId}`;
    const written = this.#written.get(key) ?? { lists: new Set(), facets: new Set() };
    this.#written.set(key, written);
    const own = facetsOfRow({ name, runType });
    // Runs of one program often share the very list.
    for (const facet of written.lists.has(facets) ? own : [...own, ...facets]) {
      if (!written.facets.has(facet)) {
        written.facets.add(facet);
        this.#insert.run([projectId, facet, block]);
      }
    }
    written.lists.add(facets);
  }
}

interface Noted extends Omit<FacetedRow, "startMicros"> {
  readonly block: number;
  readonly facets: readonly string[];
}

interface Written {
  readonly lists: Set<readonly string[]>;
  readonly facets: Set<string>;
}
