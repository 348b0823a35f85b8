import type { RunRecord } from "../run-record.ts";
import { checksumOf } from "../../storage/sqlite/checksum.ts";
import { isSqliteError } from "../../storage/sqlite/connection.ts";
import type { ActivityCounter } from "./activity-counter.ts";
import type { FacetWriter } from "./facet-writer.ts";
import { postColumns, postIndexes, unpackPost } from "./post-rows.ts";
import type { PostRows } from "./post-rows.ts";
import { postForms, PostStatements } from "./post-statements.ts";
import type { PostForm } from "./post-statements.ts";
import type { RunProjects } from "../run-writer-dependencies.ts";
import { measuresOf, unmeasured } from "./row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/**
 * Numbers of rows per statement, the largest first. Measured with runs of 5.5 kB: one statement per row costs three
 * times as much per row as one statement for 64. Payloads are copied twice on their way, so those of one statement
 * should fit into the processor's cache.
 */
const rowsPerStatement = {
  rows: [128, 64, 32, 16, 8, 4, 2, 1],
  payloads: [32, 16, 8, 4, 2, 1],
} as const;

interface PostWriterParts {
  readonly tenantId: string;
  readonly bodies: Uint8Array;
  /**
   * Applies a post individually: one whose statement failed because it contained a run that exists already, or one
   * whose run has a longer key.
   */
  readonly applyRecord: (record: RunRecord) => void;
  /** Returns those of the tenant's run ids that have a longer key (`tenant-keys.ts`). */
  readonly findLong: (listIds: () => readonly string[]) => ReadonlySet<string>;
}

/** Numbers of the posts that were inserted as rows. */
interface PostCounts {
  readonly accepted: number;
  readonly duplicates: number;
}

/** Posts, by index, that are inserted with the same form of statement. */
interface PostGroup {
  readonly form: PostForm;
  readonly indexes: readonly number[];
}

/** Inserts posts of new runs, many with one statement. */
export class PostWriter {
  readonly #projects: RunProjects;
  readonly #facets: FacetWriter;
  readonly #activity: ActivityCounter;
  readonly #statements: PostStatements;

  constructor(
    db: Connection,
    {
      projects,
      facets,
      activity,
    }: {
      readonly projects: RunProjects;
      readonly facets: FacetWriter;
      readonly activity: ActivityCounter;
    },
  ) {
    this.#projects = projects;
    this.#facets = facets;
    this.#activity = activity;
    this.#statements = new PostStatements(db);
  }

  /** Posts of the same run stay in order. */
  write(posts: PostRows, dependencies: PostWriterParts): PostCounts {
    const counts = { accepted: 0, duplicates: 0 };
    const long = dependencies.findLong(() => idsOf(posts));
    for (const { form, indexes } of groupByForm(posts)) {
      for (const part of splitByLengths(withoutLong(posts, indexes, long), rowsPerStatement.rows)) {
        const accepted = this.#writeSome(posts, { form, indexes: part }, dependencies);
        if (accepted === undefined) {
          part.forEach((index) => dependencies.applyRecord(unpackPost(posts, index)));
        } else {
          counts.accepted += accepted;
          counts.duplicates += part.length - accepted;
        }
      }
    }
    if (long.size > 0) {
      posts.facetsAt.forEach((_facets, index) => {
        if (long.has(idAt(posts, index))) {
          dependencies.applyRecord(unpackPost(posts, index));
        }
      });
    }
    return counts;
  }

  /**
   * Returns how many were new; `undefined` if one of the runs exists already, in which case nothing was written.
   */
  #writeSome(posts: PostRows, group: PostGroup, dependencies: PostWriterParts): number | undefined {
    const projectIds = this.#projectIdsOf(posts, group, dependencies.tenantId);
    try {
      this.#statements
        .rows(group.form, group.indexes.length)
        .run(parametersOf(posts, group, projectIds));
    } catch (cause) {
      if (isConstraintError(cause)) {
        return undefined;
      }
      throw cause;
    }
    for (const [at, index] of group.indexes.entries()) {
      const row = readRow(posts.values, index * width, projectIds[at] ?? "");
      this.#facets.add(row, posts.facetLists[posts.facetsAt[index] ?? -1] ?? []);
      const measures = measuresOf(posts.values, index * width + postIndexes.measures);
      this.#activity.add(dependencies.tenantId, { previous: undefined, row, measures });
    }
    let accepted = 0;
    for (const part of splitByLengths(group.indexes, rowsPerStatement.payloads)) {
      accepted += this.#writePayloads(posts, part, dependencies.bodies);
    }
    return accepted;
  }

  /** Returns how many were new. */
  #writePayloads(
    { values, bounds }: PostRows,
    indexes: readonly number[],
    bodies: Uint8Array,
  ): number {
    const payloads: (Value | Uint8Array)[] = [];
    for (const index of indexes) {
      const at = index * width;
      const id = values[at + postIndexes.id];
      const body = bodies.subarray(bounds[index * 2], bounds[index * 2 + 1]);
      payloads.push(values[at + postIndexes.traceId], id, body, checksumOf(body, String(id)));
    }
    return this.#statements.payloads(indexes.length).run(payloads).changes;
  }

  /** Returns the project id of each post, which replaces the project's name. */
  #projectIdsOf({ values }: PostRows, { indexes }: PostGroup, tenantId: string): string[] {
    let name: Value;
    let id: string | undefined;
    return indexes.map((index) => {
      const projectName = values[index * width + postIndexes.project];
      // Most posts have the same project as the one before.
      if (id === undefined || projectName !== name) {
        name = projectName;
        id = this.#projects.idOf(tenantId, textOrNull(name));
      }
      return id;
    });
  }
}

const idAt = ({ values }: PostRows, index: number): string =>
  String(values[index * width + postIndexes.id]);

const idsOf = (posts: PostRows): readonly string[] =>
  posts.facetsAt.map((_facets, index) => idAt(posts, index));

const withoutLong = (
  posts: PostRows,
  indexes: readonly number[],
  long: ReadonlySet<string>,
): readonly number[] =>
  long.size === 0 ? indexes : indexes.filter((index) => !long.has(idAt(posts, index)));

/**
 * Groups posts by form. They all stay in one group if two of them belong to the same run, because those must stay
 * in order.
 */
function groupByForm(posts: PostRows): readonly PostGroup[] {
  const usual: number[] = [];
  const others: number[] = [];
  const all = posts.facetsAt.map((_facets, index) => {
    (isUsual(posts.values, index * width) ? usual : others).push(index);
    return index;
  });
  if (usual.length === 0 || others.length === 0) {
    return all.length === 0 ? [] : [{ form: usual.length === 0 ? "any" : "usual", indexes: all }];
  }
  const ids = new Set(all.map((index) => posts.values[index * width + postIndexes.id]));
  if (ids.size < all.length) {
    return [{ form: "any", indexes: all }];
  }
  return [
    { form: "usual", indexes: usual },
    { form: "any", indexes: others },
  ];
}

/** Whether a post fits the form `usual`, whose project is the one of the batch's first post. */
const isUsual = (values: PostRows["values"], at: number): boolean =>
  values[at + postIndexes.measures] === unmeasured &&
  values[at + postIndexes.referenceExampleId] === null &&
  values[at + postIndexes.project] === values[postIndexes.project];

/** Returns the parameters of the insert statement. */
function parametersOf(
  { values }: PostRows,
  group: PostGroup,
  projectIds: readonly string[],
): Value[] {
  const { indexes, sharesProject } = postForms[group.form];
  const rows: Value[] = sharesProject ? [projectIds[0]] : [];
  for (const [row, index] of group.indexes.entries()) {
    const at = index * width;
    for (const valueIndex of indexes) {
      rows.push(valueIndex === postIndexes.project ? projectIds[row] : values[at + valueIndex]);
    }
  }
  return rows;
}

/** Splits a list into parts, each as long as the longest of `lengths` that fits. */
function* splitByLengths(
  indexes: readonly number[],
  lengths: readonly number[],
): Generator<readonly number[]> {
  for (let from = 0; from < indexes.length;) {
    const count = lengths.find((length) => length <= indexes.length - from) ?? 1;
    yield indexes.slice(from, from + count);
    from += count;
  }
}

/** The values of a row that facets and activity counts need. */
const readRow = (values: PostRows["values"], at: number, projectId: string) => ({
  projectId,
  name: String(values[at + postIndexes.name]),
  runType: String(values[at + postIndexes.runType]),
  startMicros: Number(values[at + postIndexes.startMicros]),
  endMicros: numberOrNull(values[at + postIndexes.endMicros]),
  hasError: values[at + postIndexes.hasError] === 1,
  parentRunId: textOrNull(values[at + postIndexes.parentRunId]),
});

const width = postColumns.length;

type Value = string | number | null | undefined;
const textOrNull = (value: Value): string | null => (typeof value === "string" ? value : null);
const numberOrNull = (value: Value): number | null => (typeof value === "number" ? value : null);

/** The run exists already. SQLite has rolled back the whole statement. */
const isConstraintError = (cause: unknown): boolean => isSqliteError(cause, "constraint");
