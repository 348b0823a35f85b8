import { defaultRunType } from "millrace/model";
import { mergeRecord, resolvePosition, unnamed } from "../merge.ts";
import type { RunMeasures } from "../run-measures.ts";
import type { PostRows, RunBatch, RunRecord } from "../run-record.ts";
import { measuresOf, measuresToValues, measureColumns, rowToValues, runColumns } from "./row.ts";

/** All columns of `runs` except `posted` and `patched`, which are the same for every post. */
const rowColumns = runColumns.filter((name) => name !== "posted" && name !== "patched");
export const postColumns = [...rowColumns, ...measureColumns] as const;

/** Index of each value within the `values` of a post. */
export const postIndexes = {
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

/** Separates the posts that can be inserted as rows from all other records. */
export function packPosts(batch: RunBatch): RunBatch {
  const packer = new PostPacker();
  for (const record of batch.records) {
    packer.add(record);
  }
  return { ...batch, ...packer.build() };
}

/** A validated post that has a dotted order and does not name its project by id. */
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
  /** 1 if the run has an error, else 0. */
  readonly hasError: number;
  readonly facets: readonly string[];
  readonly measures: RunMeasures | undefined;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** Collects operations in order: posts as rows where possible, everything else as records. */
export class PostPacker {
  readonly #records: RunRecord[] = [];
  readonly #values: (string | number | null)[] = [];
  readonly #bounds: number[] = [];
  readonly #facetsAt: number[] = [];
  readonly #facetLists = new Map<readonly string[], number>();
  /**
   * Ids of the runs that have records. Rows are written before records, so a later post of such a run must stay a
   * record, too.
   */
  readonly #recordIds = new Set<string>();

  /** Whether a post of this run may be a row. */
  canBeRow(id: string): boolean {
    return this.#recordIds.size === 0 || !this.#recordIds.has(id);
  }

  add(record: RunRecord): void {
    const row = this.canBeRow(record.id) ? toRow(record) : undefined;
    if (row === undefined) {
      this.#records.push(record);
      this.#recordIds.add(record.id);
      return;
    }
    this.#values.push(...row);
    this.#addDetails(record);
  }

  /** Adds a post of a run for which {@link canBeRow} returns true. */
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
    this.#addDetails(post);
  }

  build(): { readonly posts: PostRows; readonly records: readonly RunRecord[] } {
    const posts = {
      values: this.#values,
      bounds: this.#bounds,
      facetsAt: this.#facetsAt,
      facetLists: [...this.#facetLists.keys()],
    };
    return { posts, records: this.#records };
  }

  #addDetails({
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

/** `undefined` for a record that can't be a row. */
function toRow(record: RunRecord): (string | number | null)[] | undefined {
  const { operation, dottedOrder, span, columns, measures } = record;
  const isRow =
    operation === "post" &&
    dottedOrder !== undefined &&
    span === undefined &&
    typeof columns.projectId !== "string";
  const position = isRow ? resolvePosition(record, undefined, () => undefined) : undefined;
  if (position === undefined || "reason" in position) {
    return undefined;
  }
  // The time is not used: a record with a dotted order has a start.
  const row = mergeRecord(undefined, record, { position, defaultProjectId: "", nowMicros: 0 });
  const values = rowToValues(row);
  values.length = rowColumns.length;
  values[postIndexes.project] = columns.projectName ?? null;
  values.push(...measuresToValues(measures));
  return values;
}

/** Restores the record of a post from its row. */
export function unpackPost(posts: PostRows, index: number): RunRecord {
  const from = index * postColumns.length;
  const values = posts.values.slice(from, from + postColumns.length);
  const text = (column: number): string => String(values[column]);
  const textOrNull = (column: number): string | null =>
    values[column] === null ? null : text(column);
  const measures = measuresOf(values, postIndexes.measures);
  const endMicros = values[postIndexes.endMicros];
  return {
    operation: "post",
    id: text(postIndexes.id),
    traceId: text(postIndexes.traceId),
    dottedOrder: text(postIndexes.dottedOrder),
    digest: "",
    columns: {
      projectName: textOrNull(postIndexes.project),
      name: text(postIndexes.name),
      runType: text(postIndexes.runType),
      startMicros: Number(values[postIndexes.startMicros]),
      endMicros: endMicros === null ? null : Number(endMicros),
      hasError: values[postIndexes.hasError] === 1,
      parentRunId: textOrNull(postIndexes.parentRunId),
      referenceExampleId: textOrNull(postIndexes.referenceExampleId),
    },
    facets: posts.facetLists[posts.facetsAt[index] ?? -1] ?? [],
    ...(measures === undefined ? {} : { measures }),
    bodyStart: posts.bounds[index * 2] ?? 0,
    bodyEnd: posts.bounds[index * 2 + 1] ?? 0,
  };
}
