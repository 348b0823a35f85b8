import { anyFacet, blockMicros, facetsOf, facetsOfRow } from "../facets.ts";
import { mergePayloads } from "../payload.ts";
import type { RunRow } from "../run-row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Deletes the facets of expired runs, so that their names and tags are no longer suggested. */
export class FacetSweeper {
  readonly #delete;
  readonly #insert;
  readonly #findEarlier;

  constructor(db: Connection) {
    this.#delete = db.prepare(
      "DELETE FROM run_facets WHERE project_id = ? AND facet = ? AND block = ?",
    );
    this.#insert = db.prepare("INSERT OR IGNORE INTO run_facets VALUES (?, ?, ?)");
    this.#findEarlier = db
      .prepare("SELECT 1 FROM runs WHERE project_id = ? AND start_us < ? LIMIT 1")
      .raw();
  }

  /**
   * Before the run is deleted. Of its block of time all is to go, or nothing is taken away: runs that
   * stay keep what leads to them. A name that a patch has replaced is not known any more, and stays.
   *
   * @param beforeMicros - what began before this is to go.
   */
  remove(
    run: Pick<RunRow, "projectId" | "startMicros" | "name" | "runType">,
    bodies: readonly Buffer[],
    beforeMicros: number,
  ): void {
    const block = blockOf(run);
    if (!isToGo(block, beforeMicros)) {
      return;
    }
    const facets = new Set([anyFacet, ...facetsOfRow(run)]);
    // Each payload has given its own, whatever later ones replaced.
    for (const body of bodies) {
      facetsOf(mergePayloads([body])).forEach((facet) => facets.add(facet));
    }
    for (const facet of facets) {
      this.#delete.run([run.projectId, facet, block]);
    }
  }

  /**
   * After a step that ended with this run. What is left of its block may have any facet until the next
   * step: that may come late, or never where the rule changes.
   */
  end(run: Pick<RunRow, "projectId" | "startMicros">, beforeMicros: number): void {
    const block = blockOf(run);
    const { projectId } = run;
    const isLeft = (): boolean =>
      this.#findEarlier.all([projectId, (block + 1) * blockMicros]).length > 0;
    if (isToGo(block, beforeMicros) && isLeft()) {
      this.#insert.run([projectId, anyFacet, block]);
    }
  }
}

const blockOf = ({ startMicros }: Pick<RunRow, "startMicros">): number =>
  Math.floor(startMicros / blockMicros);

/** Whether all runs of a block began before what is kept. */
const isToGo = (block: number, beforeMicros: number): boolean =>
  (block + 1) * blockMicros <= beforeMicros;
