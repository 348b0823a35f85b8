import { serverLimits } from "../../model/options.ts";
import { parseRows, textOf, toWholeTextSql } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { StepSize } from "../../storage/sqlite/step-size.ts";
import { anyFacet, blockMicros, createRowFacets, readPayloadFacets } from "../facets.ts";
import { mergePayloads } from "../payload.ts";
import type { RunRow } from "../run-row.ts";
import { PayloadReader } from "./payload-reader.ts";

/** Maximum number of runs that one call deletes. */
const runsPerStep = 100;
/** Maximum number of runs of a block of time that are read to find out which facets of a deleted run are still in use. */
const runsPerBlock = 20;

type DeletedRow = Pick<RunRow, "traceId" | "id" | "projectId" | "startMicros" | "name" | "runType">;

/** Deletes single runs in SQLite, with the runs below them and everything that belongs to them. */
export class RunDeleter {
  readonly #payloads: PayloadReader;
  readonly #steps: StepSize;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection, stepSize = new StepSize()) {
    this.#payloads = new PayloadReader(db);
    this.#steps = stepSize;
    this.#statements = prepareStatements(db);
  }

  /**
   * Deletes some of the runs of a tree, those further below first and the run itself last, so that a call for the same
   * run continues the deletion. Returns their number, and whether the run itself was deleted.
   */
  deleteSome(
    tenantId: string,
    row: Pick<RunRow, "traceId" | "id" | "dottedOrder">,
    limit: number,
  ): { readonly deleted: number; readonly isComplete: boolean } {
    const stepLimit = this.#steps.limitRows(Math.min(runsPerStep, limit));
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

  /** Deletes a run, and notes its facets. Returns the bytes of its payloads and files. */
  #delete(tenantId: string, row: DeletedRow, facetsByBlock: Map<number, BlockFacets>): number {
    const { measureFiles, deleteFromRunTables, deleteFromTenantTables } = this.#statements;
    const payloads = this.#payloads.read(row);
    const [[fileBytes] = []] = parseRows(measureFiles.all([row.traceId, row.id]));
    const block = Math.floor(row.startMicros / blockMicros);
    const noted = facetsByBlock.get(block) ?? { projectId: row.projectId, facets: new Set() };
    facetsByBlock.set(block, noted);
    collectFacets(row, payloads).forEach((facet) => noted.facets.add(facet));
    deleteFromRunTables.forEach((statement) => statement.run([row.traceId, row.id]));
    deleteFromTenantTables.forEach((statement) => statement.run([row.id, tenantId]));
    return payloads.reduce((sum, { length }) => sum + length, Number(fileBytes));
  }

  /**
   * Deletes the facets that no run of the block has any more, so that names and tags of deleted runs are not suggested.
   * In a block with many runs they stay: a facet only narrows down a search, so that too many are harmless.
   */
  #deleteUnusedFacets(block: number, { projectId, facets }: BlockFacets): void {
    const { listBlock, deleteFacet } = this.#statements;
    const bounds = [projectId, block * blockMicros, (block + 1) * blockMicros, runsPerBlock + 1];
    const remaining = parseRows(listBlock.all(bounds)).map(toDeletedRow);
    if (remaining.length > runsPerBlock) {
      return;
    }
    const used = new Set(
      remaining.flatMap((row) => [...collectFacets(row, this.#payloads.read(row))]),
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

/** Each payload has added its facets, even if later payloads replaced its members. */
const collectFacets = (row: DeletedRow, payloads: readonly Buffer[]): ReadonlySet<string> =>
  new Set([
    ...createRowFacets(row),
    ...payloads.flatMap((body) => readPayloadFacets(mergePayloads([body]))),
  ]);

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
    // Another tenant may have a trace with the same id. The dotted order of a run below another one begins with that of the other one and a dot, and '/' follows '.'.
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
    measureFiles: db
      .prepare("SELECT total(length(bytes)) FROM attachments WHERE trace_id = ? AND id = ?")
      .raw(),
    deleteFromRunTables: ["payloads", "attachments", "shares", "trace_shares", "runs"].map(
      (table) => db.prepare(`DELETE FROM ${table} WHERE trace_id = ? AND id = ?`),
    ),
    // Rows of another tenant may refer to the same run id. They are not deleted.
    deleteFromTenantTables: ["feedback", "feedback_tokens", "annotation_queue_runs"].map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE run_id = ? AND tenant_id = ?`),
    ),
    deleteFacet: db.prepare(
      "DELETE FROM run_facets WHERE project_id = ? AND facet = ? AND block = ?",
    ),
  };
}
