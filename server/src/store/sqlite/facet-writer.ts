import { blockMicros } from "../facets.ts";
import type { RunRow } from "../run-row.ts";
import type { Connection } from "./schema.ts";

/** Notes the facets of runs. */
export class FacetWriter {
  readonly #insert;
  /** Rows of this batch: what most of its runs have is written once. */
  readonly #written = new Set<string>();

  constructor(db: Connection) {
    this.#insert = db.prepare("INSERT OR IGNORE INTO run_facets VALUES (?, ?, ?)");
  }

  /** Before each batch: rows of an earlier one may have been undone, or deleted. */
  begin(): void {
    this.#written.clear();
  }

  add({ projectId, startMicros }: RunRow, facets: readonly string[]): void {
    const block = Math.floor(startMicros / blockMicros);
    for (const facet of facets) {
      const row = `${block} ${projectId} ${facet}`;
      if (!this.#written.has(row)) {
        this.#written.add(row);
        this.#insert.run([projectId, facet, block]);
      }
    }
  }
}
