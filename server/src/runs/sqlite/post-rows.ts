import { defaultRunType } from "millrace/model";
import { mergeRecord, placeRecord, unnamed } from "../merge.ts";
import type { RunMeasures } from "../run-measures.ts";
import type { PostRows, RunBatch, RunRecord } from "../run-record.ts";
import { measuresOf, measuresToValues, measureColumns, rowToValues, runColumns } from "./row.ts";

/** All columns of `runs` but those that say what was received, which are the same for each post. */
const rowColumns = runColumns.filter((name) => name !== "posted" && name !== "patched");
export const postColumns = [...rowColumns, ...measureColumns] as const;

/** Where a post has what, in its part of `values`. */
export const postPlaces = {
  traceId: 0,
  id: 1,
  project: 2,
  name: 3,
  runType: 4,
  startMicros: 5,
  endMicros: 6,
  hasError: 7,
  parentRunId: 8,
  dottedOrder: 9,
  referenceExampleId: 10,
  measures: rowColumns.length,
} as const;

/** Puts the posts among the records that can go as rows apart from all others. */
export function packPosts(batch: RunBatch): RunBatch {
  const packer = new PostPacker();
  for (const record of batch.records) {
    packer.add(record);
  }
  return { ...batch, ...packer.build() };
}

/** A post of which all was checked, with a dotted order and without the id of a project. */
export interface CheckedPost {
  readonly id: string;
  readonly traceId: string;
  readonly parentRunId: string | null;
  readonly dottedOrder: string;
  readonly projectName: string | null;
  readonly name: string | null;
  readonly runType: string | null;
  readonly startMicros: number | null;
  readonly endMicros: number | null;
  /** 1 where it has one. */
  readonly hasError: number;
  readonly facets: readonly string[];
  readonly measures: RunMeasures | undefined;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** Gathers operations in their order: rows of posts, and the records of all others. */
export class PostPacker {
  readonly #rest: RunRecord[] = [];
  readonly #values: (string | number | null)[] = [];
  readonly #bounds: number[] = [];
  readonly #facetsAt: number[] = [];
  readonly #facetLists = new Map<readonly string[], number>();
  /** Rows are written before the rest. What came before a post of the same run stays before it. */
  readonly #before = new Set<string>();

  /** Whether a post of that run may be a row. */
  takes(id: string): boolean {
    return this.#before.size === 0 || !this.#before.has(id);
  }

  add(record: RunRecord): void {
    const row = this.takes(record.id) ? toRow(record) : undefined;
    if (row === undefined) {
      this.#rest.push(record);
      this.#before.add(record.id);
      return;
    }
    this.#values.push(...row);
    this.#addBeside(record);
  }

  /** One of a run that {@link takes} allows. */
  addPost(post: CheckedPost): void {
    this.#values.push(
      post.traceId,
      post.id,
      post.projectName,
      post.name ?? unnamed,
      post.runType ?? defaultRunType,
      post.startMicros,
      post.endMicros,
      post.hasError,
      post.parentRunId,
      post.dottedOrder,
      null,
    );
    this.#values.push(...measuresToValues(post.measures));
    this.#addBeside(post);
  }

  build(): { readonly posts: PostRows; readonly records: readonly RunRecord[] } {
    const posts = {
      values: this.#values,
      bounds: this.#bounds,
      facetsAt: this.#facetsAt,
      facetLists: [...this.#facetLists.keys()],
    };
    return { posts, records: this.#rest };
  }

  #addBeside({
    facets,
    bodyStart,
    bodyEnd,
  }: Pick<RunRecord, "facets" | "bodyStart" | "bodyEnd">): void {
    this.#bounds.push(bodyStart, bodyEnd);
    const at = this.#facetLists.get(facets) ?? this.#facetLists.size;
    this.#facetLists.set(facets, at);
    this.#facetsAt.push(at);
  }
}

/** `undefined` for what is no such post. */
function toRow(record: RunRecord): (string | number | null)[] | undefined {
  const { operation, dottedOrder, span, columns, measures } = record;
  const isRow =
    operation === "post" &&
    dottedOrder !== undefined &&
    span === undefined &&
    typeof columns.projectId !== "string";
  const place = isRow ? placeRecord(record, undefined, () => undefined) : undefined;
  if (place === undefined || "reason" in place) {
    return undefined;
  }
  // With a dotted order nothing of the row is left to the clock.
  const row = mergeRecord(undefined, record, { place, defaultProjectId: "", nowMicros: 0 });
  const values = rowToValues(row);
  values.length = rowColumns.length;
  values[postPlaces.project] = columns.projectName ?? null;
  values.push(...measuresToValues(measures));
  return values;
}

/** A post as it was before it became a row. */
export function unpackPost(posts: PostRows, index: number): RunRecord {
  const from = index * postColumns.length;
  const values = posts.values.slice(from, from + postColumns.length);
  const text = (place: number): string => String(values[place]);
  const textOrNull = (place: number): string | null =>
    values[place] === null ? null : text(place);
  const measures = measuresOf(values, postPlaces.measures);
  const endMicros = values[postPlaces.endMicros];
  return {
    operation: "post",
    id: text(postPlaces.id),
    traceId: text(postPlaces.traceId),
    dottedOrder: text(postPlaces.dottedOrder),
    digest: "",
    columns: {
      projectName: textOrNull(postPlaces.project),
      name: text(postPlaces.name),
      runType: text(postPlaces.runType),
      startMicros: Number(values[postPlaces.startMicros]),
      endMicros: endMicros === null ? null : Number(endMicros),
      hasError: values[postPlaces.hasError] === 1,
      parentRunId: textOrNull(postPlaces.parentRunId),
      referenceExampleId: textOrNull(postPlaces.referenceExampleId),
    },
    facets: posts.facetLists[posts.facetsAt[index] ?? -1] ?? [],
    ...(measures === undefined ? {} : { measures }),
    bodyStart: posts.bounds[index * 2] ?? 0,
    bodyEnd: posts.bounds[index * 2 + 1] ?? 0,
  };
}
