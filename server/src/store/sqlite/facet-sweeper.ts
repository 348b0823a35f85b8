import { anyFacet, blockMicros, facetsOf, facetsOfRow } from "../facets.ts";
import { mergePayloads } from "../payload.ts";
import type { RunRow } from "../run-row.ts";
import type { Connection } from "./schema.ts";

/** Takes the facets of runs away that are kept no longer: their names and tags are proposed to nobody. */
export class FacetSweeper {
  readonly #delete;

  constructor(db: Connection) {
    this.#delete = db.prepare(
      "DELETE FROM run_facets WHERE project_id = ? AND facet = ? AND block = ?",
    );
  }

  /**
   * Before the run is deleted. Of its block of time all is to go, or nothing is taken away: runs that
   * stay keep what leads to them. Runs of the block that go with a later step are found no more by
   * their facets until then. A name that a patch has replaced is not known any more, and stays.
   *
   * @param beforeMicros - what began before this is to go.
   */
  remove(
    run: Pick<RunRow, "projectId" | "startMicros" | "name" | "runType">,
    bodies: readonly Buffer[],
    beforeMicros: number,
  ): void {
    const block = Math.floor(run.startMicros / blockMicros);
    if ((block + 1) * blockMicros > beforeMicros) {
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
}
