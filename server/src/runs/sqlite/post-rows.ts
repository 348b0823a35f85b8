import type { ShareableText } from "../shared-texts/shareable-text.ts";
import { mergeRecord, resolvePosition } from "../merge.ts";
import type { RunBilling } from "../usage/run-cost.ts";
import { usageCosts } from "../usage/usage-sources.ts";
import { measureNames } from "../usage/measures.ts";
import type { RunBatch, RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import { valuesToMeasures, measuresToValues, measureColumns, runColumns } from "./run-columns.ts";

/** All columns of `runs` except `posted` and `patched`, which have the same value for every new run. */
const rowColumns = runColumns.filter((name) => name !== "posted" && name !== "patched");
export const postColumns = [...rowColumns, ...measureColumns] as const;

const indexOf = (column: (typeof rowColumns)[number]): number => rowColumns.indexOf(column);

/** Index of each value among the `values` of a run. */
export const postIndexes = {
  traceId: indexOf("trace_id"),
  id: indexOf("id"),
  project: indexOf("project_id"),
  name: indexOf("name"),
  runType: indexOf("run_type"),
  startMicros: indexOf("start_us"),
  endMicros: indexOf("end_us"),
  hasError: indexOf("has_error"),
  parentRunId: indexOf("parent_run_id"),
  dottedOrder: indexOf("dotted_order"),
  referenceExampleId: indexOf("reference_example_id"),
  measures: rowColumns.length,
  costBasis: rowColumns.length + measureColumns.length - 1,
} as const;

/**
 * New runs whose position in their trace is known, as rows. Most runs of most batches are of this kind. They are sent
 * to the writer thread as one list of plain values, and many are inserted with one statement; creating an object for
 * each run would take longer than inserting the rows.
 */
export interface PostRows {
  /**
   * The values of all runs: for each run one value per column of `postColumns`. The project is given by name, or
   * `null` if the run names no project.
   */
  readonly values: (string | number | null)[];
  /** Start and end of each run's payload in `bodies`. */
  readonly bounds: readonly number[];
  /** For each run, the index of its facets in `facetLists`. */
  readonly facetIndexes: readonly number[];
  readonly facetLists: readonly (readonly string[])[];
  /** The facts that determine the price of each run that reports tokens, by the run's index. */
  readonly billings: ReadonlyMap<number, RunBilling>;
  /** The texts that may occur in other payloads, too, by the index of the run whose payload contains them. */
  readonly shareable: ReadonlyMap<number, readonly ShareableText[]>;
}

/** A batch in which new runs are represented as {@link PostRows} where possible, instead of as records. */
export interface GroupedBatch extends RunBatch {
  /** The new runs to insert before `records`. Absent in a batch that was not grouped. */
  readonly posts?: PostRows;
}

/** Separates the runs that can be inserted as rows from all other records. */
export function packPosts(batch: RunBatch): GroupedBatch {
  const packer = new PostPacker();
  for (const record of batch.records) {
    packer.add(record);
  }
  return { ...batch, ...packer.build() };
}

/** Collects records in order, as rows where possible. */
class PostPacker {
  readonly #records: RunRecord[] = [];
  readonly #values: (string | number | null)[] = [];
  readonly #bounds: number[] = [];
  readonly #facetIndexes: number[] = [];
  readonly #facetLists = new Map<readonly string[], number>();
  readonly #billings = new Map<number, RunBilling>();
  readonly #shareable = new Map<number, readonly ShareableText[]>();
  /**
   * Ids of the runs that have records. Rows are inserted before records, so a later operation on such a run must stay
   * a record, too.
   */
  readonly #recordIds = new Set<string>();

  add(record: RunRecord): void {
    const isFirst = this.#recordIds.size === 0 || !this.#recordIds.has(record.id);
    const row = isFirst ? toRow(record) : undefined;
    if (row === undefined) {
      this.#records.push(record);
      this.#recordIds.add(record.id);
      return;
    }
    // The values must be in the order of `postColumns`.
    this.#values.push(
      row.traceId,
      row.id,
      record.columns.projectName ?? null,
      row.name,
      row.runType,
      row.startMicros,
      row.endMicros,
      row.hasError ? 1 : 0,
      row.parentRunId,
      row.dottedOrder,
      row.referenceExampleId,
    );
    const { measures, billing } = record;
    this.#values.push(...measuresToValues(measures && { measures, basisJson: null }));
    if (billing !== undefined) {
      this.#billings.set(this.#facetIndexes.length, billing);
    }
    if (record.shareable !== undefined) {
      this.#shareable.set(this.#facetIndexes.length, record.shareable);
    }
    this.#bounds.push(record.bodyStart, record.bodyEnd);
    const facetIndex = this.#facetLists.get(record.facets) ?? this.#facetLists.size;
    this.#facetLists.set(record.facets, facetIndex);
    this.#facetIndexes.push(facetIndex);
  }

  build(): { readonly posts: PostRows; readonly records: readonly RunRecord[] } {
    const posts = {
      values: this.#values,
      bounds: this.#bounds,
      facetIndexes: this.#facetIndexes,
      facetLists: [...this.#facetLists.keys()],
      billings: this.#billings,
      shareable: this.#shareable,
    };
    return { posts, records: this.#records };
  }
}

/** Converts a record to a row; `undefined` if that is not possible. */
function toRow(record: RunRecord): RunRow | undefined {
  const { operation, dottedOrder, span, columns } = record;
  const canBeRow =
    operation === "post" &&
    dottedOrder !== undefined &&
    span === undefined &&
    typeof columns.projectId !== "string";
  const position = canBeRow ? resolvePosition(record, undefined, () => undefined) : undefined;
  return position === undefined || "reason" in position
    ? undefined
    : // `nowMicros` is not used: if a record names no start time, its dotted order contains one.
      mergeRecord(undefined, record, { position, defaultProjectId: "", nowMicros: 0 });
}

/** Restores the record of a new run from its row. */
export function unpackPost(posts: PostRows, index: number): RunRecord {
  const rowStart = index * postColumns.length;
  const values = posts.values.slice(rowStart, rowStart + postColumns.length);
  const readText = (column: number): string => String(values[column]);
  const readTextOrNull = (column: number): string | null =>
    values[column] === null ? null : readText(column);
  if (values[postIndexes.costBasis] !== null) {
    // The costs are computed, not reported: they are computed again when the record is stored.
    usageCosts.forEach((name) => {
      values[postIndexes.measures + 1 + measureNames.indexOf(name)] = null;
    });
  }
  const measures = valuesToMeasures(values, postIndexes.measures);
  const endMicros = values[postIndexes.endMicros];
  return {
    operation: "post",
    id: readText(postIndexes.id),
    traceId: readText(postIndexes.traceId),
    dottedOrder: readText(postIndexes.dottedOrder),
    digest: "",
    columns: {
      projectName: readTextOrNull(postIndexes.project),
      name: readText(postIndexes.name),
      runType: readText(postIndexes.runType),
      startMicros: Number(values[postIndexes.startMicros]),
      endMicros: endMicros === null ? null : Number(endMicros),
      hasError: values[postIndexes.hasError] === 1,
      parentRunId: readTextOrNull(postIndexes.parentRunId),
      referenceExampleId: readTextOrNull(postIndexes.referenceExampleId),
    },
    facets: posts.facetLists[posts.facetIndexes[index] ?? -1] ?? [],
    ...(measures === undefined ? {} : { measures }),
    billing: posts.billings.get(index),
    shareable: posts.shareable.get(index),
    bodyStart: posts.bounds[index * 2] ?? 0,
    bodyEnd: posts.bounds[index * 2 + 1] ?? 0,
  };
}
