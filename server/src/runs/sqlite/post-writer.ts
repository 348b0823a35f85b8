import type { PostRows, RunRecord } from "../run-record.ts";
import { checksumOf } from "../../storage/sqlite/checksum.ts";
import { isSqliteError } from "../../storage/sqlite/connection.ts";
import type { ActivityCounter } from "./activity-counter.ts";
import type { FacetWriter } from "./facet-writer.ts";
import { postColumns, postPlaces, unpackPost } from "./post-rows.ts";
import { postForms, PostStatements } from "./post-statements.ts";
import type { PostForm } from "./post-statements.ts";
import type { RunProjects } from "../run-writer-needs.ts";
import { measuresOf, unmeasured } from "./row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/**
 * How many one statement writes, the most first. Measured with runs of 5.5 kB: a statement a row costs
 * three times what a row of 64 does. Payloads are copied twice on their way: those of a statement had
 * better stay in the processor's cache.
 */
const steps = { rows: [128, 64, 32, 16, 8, 4, 2, 1], payloads: [32, 16, 8, 4, 2, 1] } as const;

interface PostWriterParts {
  readonly tenantId: string;
  readonly bodies: Uint8Array;
  /** Takes a post that stood among some of which one was received before. */
  readonly onTaken: (record: RunRecord) => void;
  /** Those of the tenant's runs that have a longer key. */
  readonly findLong: (listIds: () => readonly string[]) => ReadonlySet<string>;
}

/** What became of the others. */
interface PostCounts {
  readonly accepted: number;
  readonly duplicates: number;
}

/** Posts, by their numbers, whose rows are of one form. */
interface Lot {
  readonly form: PostForm;
  readonly indexes: readonly number[];
}

/** Writes posts that no one has seen, many with one statement. */
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

  /** Those of one run in their order. */
  write(posts: PostRows, dependencies: PostWriterParts): PostCounts {
    const counts = { accepted: 0, duplicates: 0 };
    const long = dependencies.findLong(() => idsOf(posts));
    for (const { form, indexes } of lotsOf(posts)) {
      for (const part of cut(withoutLong(posts, indexes, long), steps.rows)) {
        const accepted = this.#writeSome(posts, { form, indexes: part }, dependencies);
        if (accepted === undefined) {
          part.forEach((index) => dependencies.onTaken(unpackPost(posts, index)));
        } else {
          counts.accepted += accepted;
          counts.duplicates += part.length - accepted;
        }
      }
    }
    if (long.size > 0) {
      posts.facetsAt.forEach((_facets, index) => {
        if (long.has(idAt(posts, index))) {
          dependencies.onTaken(unpackPost(posts, index));
        }
      });
    }
    return counts;
  }

  /** How many were new; `undefined` where one of them was received before, and nothing was written. */
  #writeSome(posts: PostRows, lot: Lot, dependencies: PostWriterParts): number | undefined {
    const projectIds = this.#projectIdsOf(posts, lot, dependencies.tenantId);
    try {
      this.#statements.rows(lot.form, lot.indexes.length).run(rowsOf(posts, lot, projectIds));
    } catch (cause) {
      if (isTaken(cause)) {
        return undefined;
      }
      throw cause;
    }
    for (const [at, index] of lot.indexes.entries()) {
      const row = readRow(posts.values, index * width, projectIds[at] ?? "");
      this.#facets.add(row, posts.facetLists[posts.facetsAt[index] ?? -1] ?? []);
      const measures = measuresOf(posts.values, index * width + postPlaces.measures);
      this.#activity.add(dependencies.tenantId, { known: undefined, row, measures });
    }
    let accepted = 0;
    for (const part of cut(lot.indexes, steps.payloads)) {
      accepted += this.#writePayloads(posts, part, dependencies.bodies);
    }
    return accepted;
  }

  /** How many were new. */
  #writePayloads(
    { values, bounds }: PostRows,
    indexes: readonly number[],
    bodies: Uint8Array,
  ): number {
    const payloads: (Value | Uint8Array)[] = [];
    for (const index of indexes) {
      const at = index * width;
      const id = values[at + postPlaces.id];
      const body = bodies.subarray(bounds[index * 2], bounds[index * 2 + 1]);
      payloads.push(values[at + postPlaces.traceId], id, body, checksumOf(body, String(id)));
    }
    return this.#statements.payloads(indexes.length).run(payloads).changes;
  }

  /** For each its project's id, which stands in place of the name. */
  #projectIdsOf({ values }: PostRows, { indexes }: Lot, tenantId: string): string[] {
    let name: Value;
    let id: string | undefined;
    return indexes.map((index) => {
      const own = values[index * width + postPlaces.project];
      // Mostly the one of the row before.
      if (id === undefined || own !== name) {
        name = own;
        id = this.#projects.idOf(tenantId, textOrNull(name));
      }
      return id;
    });
  }
}

const idAt = ({ values }: PostRows, index: number): string =>
  String(values[index * width + postPlaces.id]);

const idsOf = (posts: PostRows): readonly string[] =>
  posts.facetsAt.map((_facets, index) => idAt(posts, index));

const withoutLong = (
  posts: PostRows,
  indexes: readonly number[],
  long: ReadonlySet<string>,
): readonly number[] =>
  long.size === 0 ? indexes : indexes.filter((index) => !long.has(idAt(posts, index)));

/** Usual posts apart, where the order of those of one run stays what it is. */
function lotsOf(posts: PostRows): readonly Lot[] {
  const usual: number[] = [];
  const others: number[] = [];
  const all = posts.facetsAt.map((_facets, index) => {
    (isUsual(posts.values, index * width) ? usual : others).push(index);
    return index;
  });
  if (usual.length === 0 || others.length === 0) {
    return all.length === 0 ? [] : [{ form: usual.length === 0 ? "any" : "usual", indexes: all }];
  }
  const ids = new Set(all.map((index) => posts.values[index * width + postPlaces.id]));
  if (ids.size < all.length) {
    return [{ form: "any", indexes: all }];
  }
  return [
    { form: "usual", indexes: usual },
    { form: "any", indexes: others },
  ];
}

/** As the form of that name takes it; its project is the one of the batch's first post. */
const isUsual = (values: PostRows["values"], at: number): boolean =>
  values[at + postPlaces.measures] === unmeasured &&
  values[at + postPlaces.referenceExampleId] === null &&
  values[at + postPlaces.project] === values[postPlaces.project];

/** What the statement takes. */
function rowsOf({ values }: PostRows, lot: Lot, projectIds: readonly string[]): Value[] {
  const { places, sharesProject } = postForms[lot.form];
  const rows: Value[] = sharesProject ? [projectIds[0]] : [];
  for (const [row, index] of lot.indexes.entries()) {
    const at = index * width;
    for (const place of places) {
      rows.push(place === postPlaces.project ? projectIds[row] : values[at + place]);
    }
  }
  return rows;
}

/** Parts as long as the steps are. */
function* cut(
  indexes: readonly number[],
  lengths: readonly number[],
): Generator<readonly number[]> {
  for (let from = 0; from < indexes.length;) {
    const count = lengths.find((step) => step <= indexes.length - from) ?? 1;
    yield indexes.slice(from, from + count);
    from += count;
  }
}

/** What is noted beside the row that begins there. */
const readRow = (values: PostRows["values"], at: number, projectId: string) => ({
  projectId,
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
const isTaken = (cause: unknown): boolean => isSqliteError(cause, "constraint");
