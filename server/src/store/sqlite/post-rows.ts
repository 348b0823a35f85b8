import { mergeRecord, placeRecord } from "../merge.ts";
import type { RunBatch, RunRecord } from "../run-record.ts";
import { measuresOf, measuresToValues, measureColumns, rowToValues, runColumns } from "./row.ts";

/**
 * Posts that say where they stand, as rows: what most batches are made of. They go to the writer's
 * thread as one list of plain values, and into the table many at once; objects of each would cost more
 * than the rows do.
 */
export interface PostRows {
  /** For each post one value a column of {@link postColumns}; its project by name, `null` where it names none. */
  readonly values: (string | number | null)[];
  /** For each post where its payload begins and ends. */
  readonly bounds: readonly number[];
  /** For each post which of `facetLists` is its. */
  readonly facetsAt: readonly number[];
  readonly facetLists: readonly (readonly string[])[];
}

/** A batch as the writer's thread gets it. */
export interface WriterBatch extends RunBatch {
  /** Written before `records`. */
  readonly posts?: PostRows;
}

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

/** Puts the posts that can go as rows apart from all other records. */
export function packPosts({ records, ...others }: RunBatch): WriterBatch {
  const rest: RunRecord[] = [];
  const values: (string | number | null)[] = [];
  const bounds: number[] = [];
  const facetsAt: number[] = [];
  const facetLists = new Map<readonly string[], number>();
  // Rows are written before the rest. What came before a post of the same run stays before it.
  const before = new Set<string>();
  for (const record of records) {
    const row = before.size > 0 && before.has(record.id) ? undefined : toRow(record);
    if (row === undefined) {
      rest.push(record);
      before.add(record.id);
      continue;
    }
    values.push(...row);
    bounds.push(record.bodyStart, record.bodyEnd);
    const at = facetLists.get(record.facets) ?? facetLists.size;
    facetLists.set(record.facets, at);
    facetsAt.push(at);
  }
  const posts = { values, bounds, facetsAt, facetLists: [...facetLists.keys()] };
  return { ...others, posts, records: rest };
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
