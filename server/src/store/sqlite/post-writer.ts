import type { RunRecord } from "../run-record.ts";
import type { ActivityCounter } from "./activity-counter.ts";
import type { FacetWriter } from "./facet-writer.ts";
import { postColumns, postPlaces, unpackPost } from "./post-rows.ts";
import type { PostRows } from "./post-rows.ts";
import type { ProjectWriter } from "./project-writer.ts";
import { marks, measuresOf } from "./row.ts";
import type { Connection } from "./schema.ts";

/**
 * Rows that one statement writes, the most first. Measured with runs of 5.5 kB: a statement a row costs
 * three times what a row of 64 does.
 */
const steps = [64, 8, 1];

interface PostDesk {
  readonly tenantId: string;
  readonly bodies: Uint8Array;
  /** Takes a post that stood among some of which one was received before. */
  readonly onTaken: (record: RunRecord) => void;
}

/** What became of the others. */
interface PostCounts {
  readonly accepted: number;
  readonly duplicates: number;
}

interface Span {
  readonly from: number;
  readonly count: number;
}

/** Writes posts that no one has seen, many with one statement. */
export class PostWriter {
  readonly #projects: ProjectWriter;
  readonly #facets: FacetWriter;
  readonly #activity: ActivityCounter;
  readonly #statements;

  constructor(
    db: Connection,
    {
      projects,
      facets,
      activity,
    }: {
      readonly projects: ProjectWriter;
      readonly facets: FacetWriter;
      readonly activity: ActivityCounter;
    },
  ) {
    this.#projects = projects;
    this.#facets = facets;
    this.#activity = activity;
    this.#statements = new Map(steps.map((count) => [count, prepareStatements(db, count)]));
  }

  /** In their order. */
  write(posts: PostRows, desk: PostDesk): PostCounts {
    const total = posts.facetsAt.length;
    const counts = { accepted: 0, duplicates: 0 };
    for (let from = 0; from < total;) {
      const count = steps.find((step) => step <= total - from) ?? 1;
      const accepted = this.#writeSome(posts, { from, count }, desk);
      if (accepted === undefined) {
        for (let index = from; index < from + count; index += 1) {
          desk.onTaken(unpackPost(posts, index));
        }
      } else {
        counts.accepted += accepted;
        counts.duplicates += count - accepted;
      }
      from += count;
    }
    return counts;
  }

  /** How many were new; `undefined` where one of them was received before, and nothing was written. */
  #writeSome(posts: PostRows, { from, count }: Span, desk: PostDesk): number | undefined {
    const values = this.#valuesOf(posts, { from, count }, desk.tenantId);
    const { insertRuns, insertPayloads } = this.#statements.get(count) ?? raise(count);
    try {
      insertRuns.run(values);
    } catch (cause) {
      if (isTaken(cause)) {
        return undefined;
      }
      throw cause;
    }
    const payloads: (string | number | null | Uint8Array)[] = [];
    for (let index = 0; index < count; index += 1) {
      const at = index * width;
      const bound = (from + index) * 2;
      payloads.push(
        values[at + postPlaces.traceId] ?? null,
        values[at + postPlaces.id] ?? null,
        desk.bodies.subarray(posts.bounds[bound], posts.bounds[bound + 1]),
      );
      const row = readRow(values, at);
      this.#facets.add(row, posts.facetLists[posts.facetsAt[from + index] ?? -1] ?? []);
      const measures = measuresOf(values, at + postPlaces.measures);
      this.#activity.add(desk.tenantId, { known: undefined, row, measures });
    }
    return insertPayloads.run(payloads).changes;
  }

  /** What the statement takes: the rows, each with its project's id in place of the name. */
  #valuesOf({ values }: PostRows, { from, count }: Span, tenantId: string): PostRows["values"] {
    const rows = values.slice(from * width, (from + count) * width);
    let name: Value;
    let id: string | undefined;
    for (let at: number = postPlaces.project; at < rows.length; at += width) {
      // Mostly the one of the row before.
      id = id !== undefined && rows[at] === name ? id : undefined;
      name = rows[at];
      id ??= this.#projects.idOf(tenantId, textOrNull(name));
      rows[at] = id;
    }
    return rows;
  }
}

/** What is noted beside the row that begins there. */
const readRow = (values: PostRows["values"], at: number) => ({
  projectId: String(values[at + postPlaces.project]),
  name: String(values[at + postPlaces.name]),
  runType: String(values[at + postPlaces.runType]),
  startMicros: Number(values[at + postPlaces.startMicros]),
  endMicros: numberOrNull(values[at + postPlaces.endMicros]),
  hasError: values[at + postPlaces.hasError] === 1,
  parentRunId: textOrNull(values[at + postPlaces.parentRunId]),
});

const width = postColumns.length;

type Value = string | number | null | undefined;
const textOrNull = (value: Value): string | null => (typeof value === "string" ? value : null);
const numberOrNull = (value: Value): number | null => (typeof value === "number" ? value : null);

/** SQLite has undone the whole statement then. */
const isTaken = (cause: unknown): boolean =>
  cause instanceof Error && String(Reflect.get(cause, "code")).startsWith("SQLITE_CONSTRAINT");

const raise = (count: number): never => {
  throw new Error(`no statement writes ${count} rows`);
};

function prepareStatements(db: Connection, count: number) {
  const rows = (row: string): string => Array.from({ length: count }, () => row).join(", ");
  return {
    insertRuns: db.prepare(
      `INSERT INTO runs (${postColumns.join(", ")}, posted, patched) VALUES ${rows(`(${marks(postColumns)}, 1, 0)`)}`,
    ),
    insertPayloads: db.prepare(
      `INSERT OR IGNORE INTO payloads (trace_id, id, digest, body) VALUES ${rows("(?, ?, '', CAST(? AS TEXT))")}`,
    ),
  };
}
