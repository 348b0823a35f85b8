import { anyFacet, blockMicros, listRunFacets, toBlock } from "../../facets.ts";
import type { RunRow } from "../../run-row.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";

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
   * Deletes the facets of a run that is about to be deleted. Does nothing unless the whole block of time has expired,
   * because other runs of the block still need the facets. If a patch has replaced the run's name, the facet of the
   * old name remains, because the old name is no longer stored.
   *
   * @param beforeMicros - runs that began before this time have expired.
   */
  removeFacets(
    run: Pick<RunRow, "projectId" | "startMicros" | "name" | "runType">,
    bodies: readonly Buffer[],
    beforeMicros: number,
  ): void {
    const block = toBlock(run);
    if (!isExpired(block, beforeMicros)) {
      return;
    }
    for (const facet of [anyFacet, ...listRunFacets(run, bodies)]) {
      this.#delete.run([run.projectId, facet, block]);
    }
  }

  /**
   * Must be called after each step of a sweep, with the last run that the step deleted. The block of that run may have
   * remaining runs whose facets were deleted, so the block gets the wildcard facet until the next step. That step may
   * be late, and it does not take place at all if the retention rule changes.
   */
  finishStep(run: Pick<RunRow, "projectId" | "startMicros">, beforeMicros: number): void {
    const block = toBlock(run);
    const { projectId } = run;
    const hasRemaining = (): boolean =>
      this.#findEarlier.all([projectId, (block + 1) * blockMicros]).length > 0;
    if (isExpired(block, beforeMicros) && hasRemaining()) {
      this.#insert.run([projectId, anyFacet, block]);
    }
  }
}

/** Whether all runs of a block began before the expiry time. */
const isExpired = (block: number, beforeMicros: number): boolean =>
  (block + 1) * blockMicros <= beforeMicros;
