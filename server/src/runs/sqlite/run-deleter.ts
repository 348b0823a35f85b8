import { serverLimits } from "../../model/options.ts";
import { parseRows, textOf, toWholeTextSql } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { StepSize } from "../../storage/sqlite/step-size.ts";
import { anyFacet, blockMicros, listRunFacets, toBlock } from "../facets.ts";
import type { RunRow } from "../run-row.ts";
import { PayloadReader } from "./payload-reader.ts";
import { RunRowDeleter } from "./run-row-deleter.ts";

/** Maximum number of runs of a block of time that are read to find which facets of a deleted run are still in use. */
const maxReadRunsPerBlock = 20;

type DeletedRow = Pick<RunRow, "traceId" | "id" | "projectId" | "startMicros" | "name" | "runType">;

/** Deletes single runs in SQLite, with the runs below them and everything that belongs to them. */
export class RunDeleter {
  readonly #payloads: PayloadReader;
  readonly #rowDeleter: RunRowDeleter;
  readonly #steps: StepSize;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection, stepSize = new StepSize()) {
    this.#payloads = new PayloadReader(db);
    this.#rowDeleter = new RunRowDeleter(db);
    this.#steps = stepSize;
    this.#statements = prepareStatements(db);
  }

  /**
   * Deletes up to `limit` runs of a tree, descendants before their ancestors and the root of the tree last, so that
   * another call for the same root continues the deletion. Returns the number of deleted runs, and whether the root was
   * deleted.
   */
  deleteSome(
    tenantId: string,
    row: Pick<RunRow, "traceId" | "id" | "dottedOrder">,
    limit: number,
  ): { readonly deleted: number; readonly isComplete: boolean } {
    const stepLimit = this.#steps.limitRows(limit);
    const { listTree } = this.#statements;
    const rows = parseRows(
      listTree.all([row.traceId, row.id, row.dottedOrder, stepLimit, tenantId]),
    ).map(toDeletedRow);
    const facetsByBlock = new Map<number, BlockFacets>();
    let deleted = 0;
    let erasedBytes = 0;
    for (const deletedRow of rows) {
      if (erasedBytes > serverLimits.erasedBytes) {
        break; // Payloads may be large: other requests get a turn, and the next call continues here.
      }
      erasedBytes += this.#delete(tenantId, deletedRow, facetsByBlock);
      deleted += 1;
    }
    for (const [block, facets] of facetsByBlock) {
      this.#deleteUnusedFacets(block, facets);
    }
    return { deleted, isComplete: rows[deleted - 1]?.id === row.id };
  }

  /**
   * Deletes a run, and adds its facets to the entry of its block in `facetsByBlock`. Returns the bytes of its payloads
   * and files.
   */
  #delete(tenantId: string, row: DeletedRow, facetsByBlock: Map<number, BlockFacets>): number {
    const payloads = this.#payloads.read(row);
    const block = toBlock(row);
    const blockFacets = facetsByBlock.get(block) ?? { projectId: row.projectId, facets: new Set() };
    facetsByBlock.set(block, blockFacets);
    listRunFacets(row, payloads).forEach((facet) => blockFacets.facets.add(facet));
    const fileBytes = this.#rowDeleter.delete(tenantId, row);
    return payloads.reduce((sum, { length }) => sum + length, fileBytes);
  }

  /**
   * Deletes the facets that no run of the block has any more, so that names and tags of deleted runs are not suggested.
   * If the block has many runs, nothing is deleted: facets only narrow down a search, so unused ones are harmless.
   */
  #deleteUnusedFacets(block: number, { projectId, facets }: BlockFacets): void {
    const { listBlock, deleteFacet } = this.#statements;
    const bounds = [
      projectId,
      block * blockMicros,
      (block + 1) * blockMicros,
      maxReadRunsPerBlock + 1,
    ];
    const remaining = parseRows(listBlock.all(bounds)).map(toDeletedRow);
    if (remaining.length > maxReadRunsPerBlock) {
      return;
    }
    const used = new Set(
      remaining.flatMap((row) => [...listRunFacets(row, this.#payloads.read(row))]),
    );
    const unused = [...facets, ...(remaining.length === 0 ? [anyFacet] : [])].filter(
      (facet) => !used.has(facet),
    );
    unused.forEach((facet) => deleteFacet.run([projectId, facet, block]));
  }
}

/** The facets of the runs that were deleted from a block of time. */
interface BlockFacets {
  readonly projectId: string;
  readonly facets: Set<string>;
}

const toDeletedRow = ([
  traceId,
  id,
  projectId,
  startMicros,
  name,
  runType,
]: readonly unknown[]): DeletedRow => ({
  traceId: String(traceId),
  id: String(id),
  projectId: String(projectId),
  startMicros: Number(startMicros),
  name: textOf(name),
  runType: textOf(runType),
});

function prepareStatements(db: Connection) {
  const columns = `trace_id, id, project_id, start_us, ${toWholeTextSql("name")}, ${toWholeTextSql("run_type")}`;
  return {
    // The dotted order of a descendant begins with the run's dotted order and a dot. In ASCII, '/' follows '.'. Another
    // tenant may have a trace with the same id.
    listTree: db
      .prepare(
        `SELECT ${columns} FROM runs WHERE trace_id = ?1 AND (id = ?2 OR (?3 <> ''
           AND dotted_order > ?3 || '.' AND dotted_order < ?3 || '/'))
         AND project_id IN (SELECT id FROM projects WHERE tenant_id = ?5)
         ORDER BY id = ?2, dotted_order DESC LIMIT ?4`,
      )
      .raw(),
    listBlock: db
      .prepare(
        `SELECT ${columns} FROM runs WHERE project_id = ? AND start_us >= ? AND start_us < ? LIMIT ?`,
      )
      .raw(),
    deleteFacet: db.prepare(
      "DELETE FROM run_facets WHERE project_id = ? AND facet = ? AND block = ?",
    ),
  };
}
