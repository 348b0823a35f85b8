import { createRowFacets, toBlock } from "../facets.ts";
import type { RunRow } from "../run-row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

type FacetedRow = Pick<RunRow, "projectId" | "startMicros" | "name" | "runType">;

/** Stores the facets of runs. */
export class FacetWriter {
  readonly #insert;
  /**
   * The facets of this batch that are written already, by block and project: most runs of a batch have the same
   * facets.
   */
  readonly #written = new Map<string, WrittenFacets>();
  /** The run that was added last; the next run often has the same facets. */
  #last: FacetedRun | undefined;

  constructor(db: Connection) {
    this.#insert = db.prepare("INSERT OR IGNORE INTO run_facets VALUES (?, ?, ?)");
  }

  /**
   * Must be called before each batch: rows that were written for an earlier batch may have been rolled back or
   * deleted.
   */
  beginBatch(): void {
    this.#written.clear();
    this.#last = undefined;
  }

  /** Adds the facets of a run's name and type, and those of its payload. */
  add({ projectId, startMicros, name, runType }: FacetedRow, facets: readonly string[]): void {
    const block = toBlock({ startMicros });
    const lastRun = this.#last;
    if (
      lastRun !== undefined &&
      lastRun.block === block &&
      lastRun.facets === facets &&
      lastRun.name === name &&
      lastRun.runType === runType &&
      lastRun.projectId === projectId
    ) {
      return;
    }
    this.#last = { block, facets, name, runType, projectId };
    const key = `${block} ${projectId}`;
    const writtenFacets = this.#written.get(key) ?? { facetLists: new Set(), facets: new Set() };
    this.#written.set(key, writtenFacets);
    const rowFacets = createRowFacets({ name, runType });
    // Skip a list that was written already: runs of one program often share one array of facets.
    for (const facet of writtenFacets.facetLists.has(facets)
      ? rowFacets
      : [...rowFacets, ...facets]) {
      if (!writtenFacets.facets.has(facet)) {
        writtenFacets.facets.add(facet);
        this.#insert.run([projectId, facet, block]);
      }
    }
    writtenFacets.facetLists.add(facets);
  }
}

interface FacetedRun extends Omit<FacetedRow, "startMicros"> {
  readonly block: number;
  readonly facets: readonly string[];
}

interface WrittenFacets {
  readonly facetLists: Set<readonly string[]>;
  readonly facets: Set<string>;
}
