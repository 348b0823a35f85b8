import type { RunRecord } from "../run-record.ts";
import { computeChecksum } from "../../storage/sqlite/checksum.ts";
import { isSqliteError } from "../../storage/sqlite/connection.ts";
import type { ActivityCounter } from "./activity-counter.ts";
import type { FacetWriter } from "./facet-writer.ts";
import { postColumns, postIndexes, unpackPost } from "./post-rows.ts";
import type { PostRows } from "./post-rows.ts";
import { postForms, PostStatements } from "./post-statements.ts";
import type { PostForm } from "./post-statements.ts";
import type { RunMetrics, RunPrices, RunProjects } from "../run-writer-dependencies.ts";
import type { SqliteSharedTexts } from "../shared-texts/sqlite-shared-texts.ts";
import { isModelCall } from "../usage/run-cost.ts";
import { measuresToValues, valuesToMeasures, unmeasured } from "./run-columns.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/**
 * Numbers of rows per statement, the largest first. Measured with runs of 5.5 kB, one statement per row takes three
 * times as long per row as one statement for 64 rows. Payloads are copied twice while they are inserted, so those of
 * one statement should fit into the processor's cache.
 */
const rowCountsPerStatement = {
  rows: [128, 64, 32, 16, 8, 4, 2, 1],
  payloads: [32, 16, 8, 4, 2, 1],
} as const;

interface BatchDependencies {
  readonly tenantId: string;
  /** The payloads of all runs of the batch, one after the other. */
  readonly bodies: Uint8Array;
  /**
   * Applies one new run individually. Called if the statement that inserts several runs failed because one of them
   * exists already, and for runs that have a qualified key, which consists of the id and the tenant id.
   */
  readonly applyRecord: (record: RunRecord) => void;
  /** Returns the listed ids under which the tenant has runs with a qualified key (`tenant-keys.ts`). */
  readonly findQualifiedIds: (listIds: () => readonly string[]) => ReadonlySet<string>;
}

/** Numbers of accepted and of duplicate runs, without those that `applyRecord` applied. */
interface PostCounts {
  readonly accepted: number;
  readonly duplicates: number;
}

/** The indexes of new runs that are inserted in the same form. */
interface PostGroup {
  readonly form: PostForm;
  readonly indexes: readonly number[];
}

/** Inserts new runs, many with one statement. */
export class PostWriter {
  readonly #projects: RunProjects;
  readonly #facets: FacetWriter;
  readonly #activity: ActivityCounter;
  readonly #prices: RunPrices;
  readonly #metrics: RunMetrics;
  readonly #sharedTexts: SqliteSharedTexts;
  readonly #statements: PostStatements;

  constructor(
    db: Connection,
    {
      projects,
      facets,
      activity,
      prices,
      metrics,
      sharedTexts,
    }: {
      readonly projects: RunProjects;
      readonly facets: FacetWriter;
      readonly activity: ActivityCounter;
      readonly prices: RunPrices;
      readonly metrics: RunMetrics;
      readonly sharedTexts: SqliteSharedTexts;
    },
  ) {
    this.#projects = projects;
    this.#facets = facets;
    this.#activity = activity;
    this.#prices = prices;
    this.#metrics = metrics;
    this.#sharedTexts = sharedTexts;
    this.#statements = new PostStatements(db);
  }

  /** Inserts all new runs of a batch. Operations on the same run stay in order. */
  write(posts: PostRows, dependencies: BatchDependencies): PostCounts {
    this.#addCosts(dependencies.tenantId, posts);
    const counts = { accepted: 0, duplicates: 0 };
    const qualifiedIds = dependencies.findQualifiedIds(() => readIds(posts));
    for (const { form, indexes } of groupByForm(posts)) {
      for (const indexChunk of splitByLengths(
        removeQualified(posts, indexes, qualifiedIds),
        rowCountsPerStatement.rows,
      )) {
        const acceptedCount = this.#insertGroup(posts, { form, indexes: indexChunk }, dependencies);
        if (acceptedCount === undefined) {
          indexChunk.forEach((index) => dependencies.applyRecord(unpackPost(posts, index)));
        } else {
          counts.accepted += acceptedCount;
          counts.duplicates += indexChunk.length - acceptedCount;
        }
      }
    }
    if (qualifiedIds.size > 0) {
      posts.facetIndexes.forEach((_facets, index) => {
        if (qualifiedIds.has(readId(posts, index))) {
          dependencies.applyRecord(unpackPost(posts, index));
        }
      });
    }
    return counts;
  }

  /** Writes the costs of the runs into the values of their rows, which are inserted later. */
  #addCosts(tenantId: string, { values, billings }: PostRows): void {
    for (const [index, billing] of billings) {
      const rowStart = index * valuesPerRow;
      const measuresStart = rowStart + postIndexes.measures;
      const measures = valuesToMeasures(values, measuresStart);
      // The values of a batch that is written again contain the costs already.
      if (measures === undefined || values[rowStart + postIndexes.costBasis] !== null) {
        continue;
      }
      const run = {
        runType: String(values[rowStart + postIndexes.runType]),
        startMicros: Number(values[rowStart + postIndexes.startMicros]),
      };
      const priced = measuresToValues(this.#prices.price(tenantId, run, { measures, billing }));
      priced.forEach((value, offset) => {
        values[measuresStart + offset] = value;
      });
    }
  }

  /**
   * Returns how many runs were inserted; `undefined` if one of the runs exists already, in which case nothing was
   * written.
   */
  #insertGroup(
    posts: PostRows,
    group: PostGroup,
    dependencies: BatchDependencies,
  ): number | undefined {
    const projectIds = this.#findProjectIds(posts, group, dependencies.tenantId);
    try {
      this.#statements
        .prepareRows(group.form, group.indexes.length)
        .run(createParameters(posts, group, projectIds));
    } catch (cause) {
      if (isConstraintError(cause)) {
        return undefined;
      }
      throw cause;
    }
    for (const [position, index] of group.indexes.entries()) {
      const row = readRow(posts.values, index * valuesPerRow, projectIds[position] ?? "");
      this.#metrics.mark(row.projectId, row.startMicros, row);
      this.#facets.add(row, posts.facetLists[posts.facetIndexes[index] ?? -1] ?? []);
      const measures = valuesToMeasures(posts.values, index * valuesPerRow + postIndexes.measures);
      if (
        measures !== undefined &&
        row.parentRunId !== null &&
        (isModelCall(row.runType) || measures.first_token_us !== null)
      ) {
        this.#metrics.markTrace(row.traceId);
      }
      this.#activity.add(dependencies.tenantId, { previous: undefined, row, measures });
    }
    let acceptedCount = 0;
    const { shareable } = posts;
    const unsharedIndexes =
      shareable.size === 0 ? group.indexes : group.indexes.filter((index) => !shareable.has(index));
    for (const indexChunk of splitByLengths(unsharedIndexes, rowCountsPerStatement.payloads)) {
      acceptedCount += this.#writePayloads(posts, indexChunk, dependencies.bodies);
    }
    if (unsharedIndexes !== group.indexes) {
      acceptedCount += this.#writeSharingPayloads(posts, group.indexes, dependencies);
    }
    return acceptedCount;
  }

  /** Inserts the payloads that may share texts with others. Returns how many were inserted. */
  #writeSharingPayloads(
    { values, bounds, shareable }: PostRows,
    indexes: readonly number[],
    { tenantId, bodies }: BatchDependencies,
  ): number {
    let acceptedCount = 0;
    for (const index of indexes) {
      const texts = shareable.get(index);
      if (texts !== undefined) {
        const rowStart = index * valuesPerRow;
        const id = String(values[rowStart + postIndexes.id]);
        const body = bodies.subarray(bounds[index * 2], bounds[index * 2 + 1]);
        const payload = {
          traceId: String(values[rowStart + postIndexes.traceId]),
          id,
          digest: "",
          body,
          checksum: computeChecksum(body, id),
        };
        acceptedCount += this.#sharedTexts.insertPayload(tenantId, payload, texts) ? 1 : 0;
      }
    }
    return acceptedCount;
  }

  /** Returns how many payloads were inserted; the others are duplicates. */
  #writePayloads(
    { values, bounds }: PostRows,
    indexes: readonly number[],
    bodies: Uint8Array,
  ): number {
    const payloads: (Value | Uint8Array)[] = [];
    for (const index of indexes) {
      const rowStart = index * valuesPerRow;
      const id = values[rowStart + postIndexes.id];
      const body = bodies.subarray(bounds[index * 2], bounds[index * 2 + 1]);
      payloads.push(
        values[rowStart + postIndexes.traceId],
        id,
        body,
        computeChecksum(body, String(id)),
      );
    }
    return this.#statements.preparePayloads(indexes.length).run(payloads).changes;
  }

  /** Returns the id of each run's project, which replaces the project's name. */
  #findProjectIds({ values }: PostRows, { indexes }: PostGroup, tenantId: string): string[] {
    let lastProjectName: Value;
    let lastProjectId: string | undefined;
    return indexes.map((index) => {
      const projectName = values[index * valuesPerRow + postIndexes.project];
      // Most runs have the same project as the run before.
      if (lastProjectId === undefined || projectName !== lastProjectName) {
        lastProjectName = projectName;
        lastProjectId = this.#projects.findOrCreate(tenantId, toTextOrNull(lastProjectName));
      }
      return lastProjectId;
    });
  }
}

const readId = ({ values }: PostRows, index: number): string =>
  String(values[index * valuesPerRow + postIndexes.id]);

const readIds = (posts: PostRows): readonly string[] =>
  posts.facetIndexes.map((_facets, index) => readId(posts, index));

const removeQualified = (
  posts: PostRows,
  indexes: readonly number[],
  qualifiedIds: ReadonlySet<string>,
): readonly number[] =>
  qualifiedIds.size === 0
    ? indexes
    : indexes.filter((index) => !qualifiedIds.has(readId(posts, index)));

/**
 * Groups runs by form. All runs stay in one group if two of them have the same id, because runs with the same id must
 * be inserted in order.
 */
function groupByForm(posts: PostRows): readonly PostGroup[] {
  const usualIndexes: number[] = [];
  const otherIndexes: number[] = [];
  const allIndexes = posts.facetIndexes.map((_facets, index) => {
    (isUsual(posts.values, index * valuesPerRow) ? usualIndexes : otherIndexes).push(index);
    return index;
  });
  if (usualIndexes.length === 0 || otherIndexes.length === 0) {
    return allIndexes.length === 0
      ? []
      : [{ form: usualIndexes.length === 0 ? "any" : "usual", indexes: allIndexes }];
  }
  const ids = new Set(
    allIndexes.map((index) => posts.values[index * valuesPerRow + postIndexes.id]),
  );
  if (ids.size < allIndexes.length) {
    return [{ form: "any", indexes: allIndexes }];
  }
  return [
    { form: "usual", indexes: usualIndexes },
    { form: "any", indexes: otherIndexes },
  ];
}

/** Whether a run can be inserted in the form `usual`. The project of this form is that of the batch's first run. */
const isUsual = (values: PostRows["values"], rowStart: number): boolean =>
  values[rowStart + postIndexes.measures] === unmeasured &&
  values[rowStart + postIndexes.referenceExampleId] === null &&
  values[rowStart + postIndexes.project] === values[postIndexes.project];

/** Returns the parameters of the insert statement. */
function createParameters(
  { values }: PostRows,
  group: PostGroup,
  projectIds: readonly string[],
): Value[] {
  const { indexes, sharesProject } = postForms[group.form];
  const parameters: Value[] = sharesProject ? [projectIds[0]] : [];
  for (const [position, index] of group.indexes.entries()) {
    const rowStart = index * valuesPerRow;
    for (const valueIndex of indexes) {
      parameters.push(
        valueIndex === postIndexes.project ? projectIds[position] : values[rowStart + valueIndex],
      );
    }
  }
  return parameters;
}

/** Splits a list into chunks. The length of each chunk is the largest of `lengths` that the rest of the list allows. */
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

/** The values of a row that facets, metrics and activity counts need. */
const readRow = (values: PostRows["values"], rowStart: number, projectId: string) => ({
  traceId: String(values[rowStart + postIndexes.traceId]),
  id: String(values[rowStart + postIndexes.id]),
  projectId,
  name: String(values[rowStart + postIndexes.name]),
  runType: String(values[rowStart + postIndexes.runType]),
  startMicros: Number(values[rowStart + postIndexes.startMicros]),
  endMicros: toNumberOrNull(values[rowStart + postIndexes.endMicros]),
  hasError: values[rowStart + postIndexes.hasError] === 1,
  parentRunId: toTextOrNull(values[rowStart + postIndexes.parentRunId]),
});

const valuesPerRow = postColumns.length;

type Value = string | number | null | undefined;
const toTextOrNull = (value: Value): string | null => (typeof value === "string" ? value : null);
const toNumberOrNull = (value: Value): number | null => (typeof value === "number" ? value : null);

/** Whether an insert failed because a run exists already. SQLite has then rolled back the whole statement. */
const isConstraintError = (cause: unknown): boolean => isSqliteError(cause, "constraint");
