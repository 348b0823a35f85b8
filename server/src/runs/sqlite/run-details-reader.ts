import { toMimeType } from "../../bodies/part-head.ts";
import type { RunQuery } from "../run-query.ts";
import type { RunAttachment, RunChildren, StoredRun } from "../run-row.ts";
import { PayloadReader } from "./payload-reader.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { FoundRun } from "./run-shape.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/row-keys.ts";

/** Reads the data of runs that is not in their rows: payloads, files and descendants. */
export class RunDetailsReader {
  readonly #payloads: PayloadReader;
  readonly #statements;

  constructor(db: Connection) {
    this.#payloads = new PayloadReader(db);
    this.#statements = {
      listFiles: db
        .prepare(
          `SELECT j.value, a.name, a.content_type FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value
             CROSS JOIN attachments a ON a.trace_id = r.trace_id AND a.id = r.id ORDER BY j.key, a.name`,
        )
        .raw(),
      listDescendants: db
        .prepare(
          `SELECT id, parent_run_id FROM runs WHERE trace_id = ? AND dotted_order > ? AND dotted_order < ?
             AND +project_id IN (SELECT id FROM projects WHERE tenant_id = ?) ORDER BY dotted_order`,
        )
        .raw(),
    };
  }

  /** Reads the requested parts of runs. If the payloads exceed `bytesMax`, only the first runs are returned. */
  readDetails(
    runs: readonly FoundRun[],
    { parts, withChildren, bytesMax }: Pick<RunQuery, "parts" | "withChildren" | "bytesMax">,
  ): readonly StoredRun[] {
    const bodies =
      parts?.has("bodies") === false
        ? undefined
        : this.#payloads.readMany(
            runs.map(({ rowId, row }) => ({ rowId, id: row.id })),
            bytesMax,
          );
    const returnedRuns = runs.slice(0, bodies?.length);
    const rowIds = returnedRuns.map(({ rowId }) => rowId);
    const files = parts?.has("attachments") === false ? noFiles : this.#listFiles(rowIds);
    return returnedRuns.map(({ rowId, row, tenantId, projectName, shareToken, cost }, index) => {
      const { childRunIds, directChildRunIds } = withChildren
        ? this.#readChildren({ row, tenantId })
        : noChildren;
      return {
        row,
        tenantId,
        projectName,
        bodies: bodies?.[index] ?? [],
        shareToken,
        cost,
        attachments: files.get(rowId) ?? [],
        childRunIds,
        directChildRunIds,
      };
    });
  }

  /** Returns the files by the row number of their run; runs without files have no entry. */
  #listFiles(rowIds: readonly number[]): Files {
    const files = new Map<number, RunAttachment[]>();
    const rows = this.#statements.listFiles.all([JSON.stringify(rowIds)]);
    for (const [rowId, name, type] of parseRows(rows)) {
      const filesOfRun = files.get(Number(rowId)) ?? [];
      files.set(Number(rowId), filesOfRun);
      filesOfRun.push({ name: String(name), mimeType: toMimeType(String(type)) });
    }
    return files;
  }

  /**
   * Returns the ids of a run's descendants. Runs of other tenants are excluded, because several tenants may use
   * the same trace id.
   */
  #readChildren({
    row: { traceId, id, dottedOrder },
    tenantId,
  }: Pick<StoredRun, "row" | "tenantId">): RunChildren {
    if (dottedOrder === "") {
      return { childRunIds: [], directChildRunIds: [] };
    }
    // The dotted order of a descendant begins with the run's dotted order and a dot. In ASCII, '/' follows '.'.
    const values = [traceId, `${dottedOrder}.`, `${dottedOrder}/`, tenantId];
    const rows = parseRows(this.#statements.listDescendants.all(values));
    return {
      childRunIds: rows.map(([childId]) => String(childId)),
      directChildRunIds: rows
        .filter(([, parentId]) => parentId === idOf(id))
        .map(([childId]) => String(childId)),
    };
  }
}

type Files = ReadonlyMap<number, readonly RunAttachment[]>;

const noFiles: Files = new Map();

const noChildren: RunChildren = { childRunIds: null, directChildRunIds: null };
