import { mimeTypeOf } from "../../bodies/part-head.ts";
import type { RunQuery } from "../run-query.ts";
import type { RunAttachment, RunChildren, StoredRun } from "../run-row.ts";
import { PayloadReader } from "./payload-reader.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { FoundRun } from "./run-shape.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { idOf } from "../../storage/sqlite/tenant-keys.ts";

/** Reads what lies beside the rows of runs: what they received, their files, the runs below them. */
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

  /**
   * The runs with the requested parts. Where all would exceed the requested bytes, only the first ones.
   */
  complete(
    all: readonly FoundRun[],
    { parts, withChildren, bytesMax }: Pick<RunQuery, "parts" | "withChildren" | "bytesMax">,
  ): readonly StoredRun[] {
    const bodies =
      parts?.has("bodies") === false
        ? undefined
        : this.#payloads.readMany(
            all.map(({ rowId, row }) => ({ rowId, id: row.id })),
            bytesMax,
          );
    const found = all.slice(0, bodies?.length);
    const rowIds = found.map(({ rowId }) => rowId);
    const files = parts?.has("attachments") === false ? noFiles : this.#listFiles(rowIds);
    return found.map(({ rowId, row, tenantId, projectName, shareToken }, index) => {
      const { childRunIds, directChildRunIds } = withChildren
        ? this.#childrenOf({ row, tenantId })
        : noChildren;
      return {
        row,
        tenantId,
        projectName,
        bodies: bodies?.[index] ?? [],
        shareToken,
        attachments: files.get(rowId) ?? [],
        childRunIds,
        directChildRunIds,
      };
    });
  }

  /** By run; runs without have no entry. */
  #listFiles(rowIds: readonly number[]): Files {
    const files = new Map<number, RunAttachment[]>();
    const found = this.#statements.listFiles.all([JSON.stringify(rowIds)]);
    for (const [rowId, name, type] of parseRows(found)) {
      const own = files.get(Number(rowId)) ?? [];
      files.set(Number(rowId), own);
      own.push({ name: String(name), mimeType: mimeTypeOf(String(type)) });
    }
    return files;
  }

  /** Never one of another tenant's, who may name any trace. */
  #childrenOf({
    row: { traceId, id, dottedOrder },
    tenantId,
  }: Pick<StoredRun, "row" | "tenantId">): RunChildren {
    if (dottedOrder === "") {
      return { childRunIds: [], directChildRunIds: [] };
    }
    // A descendant's dotted order begins with this one's and a dot; a slash follows the dot in ASCII.
    const values = [traceId, `${dottedOrder}.`, `${dottedOrder}/`, tenantId];
    const found = parseRows(this.#statements.listDescendants.all(values));
    return {
      childRunIds: found.map(([childId]) => String(childId)),
      directChildRunIds: found
        .filter(([, parentId]) => parentId === idOf(id))
        .map(([childId]) => String(childId)),
    };
  }
}

type Files = ReadonlyMap<number, readonly RunAttachment[]>;

const noFiles: Files = new Map();

const noChildren: RunChildren = { childRunIds: null, directChildRunIds: null };
