import type { StoredRun } from "../runs/run-row.ts";
import { mergePayloads } from "../runs/merge-payloads.ts";
import { computeComparison } from "./comparison.ts";
import type {
  ComparedExperiment,
  ComparedRun,
  ComparedRunsQuery,
  ComparisonPage,
  ComparisonRequest,
  ExperimentTotals,
  PayloadPreview,
  TraceUsage,
} from "./experiment.ts";

/** The scores of one feedback key: lists of the same length. */
export interface ScoreLists {
  readonly keyJson: string;
  readonly exampleIds: readonly string[];
  readonly scores: readonly number[];
}

/** Creates the results of an experiment from the lists that a database engine has read. */
export function createComparedExperiment(
  id: string,
  results: Omit<ComparedExperiment, "id" | "scores">,
  scoreLists: readonly ScoreLists[],
): ComparedExperiment {
  const positions = new Map(results.exampleIds.map((exampleId, index) => [exampleId, index]));
  return {
    id,
    ...results,
    scores: new Map(
      scoreLists.map(({ keyJson, exampleIds, scores }) => [
        String(JSON.parse(keyJson)),
        computeMeans(positions, exampleIds, scores),
      ]),
    ),
  };
}

/**
 * Computes the mean score of each example. An example may have several scores: from several runs, or from several
 * sources.
 */
function computeMeans(
  positions: ReadonlyMap<string, number>,
  exampleIds: readonly string[],
  scores: readonly number[],
): Float64Array {
  const sums = new Float64Array(positions.size);
  const counts = new Uint32Array(positions.size);
  exampleIds.forEach((exampleId, index) => {
    // Feedback that was stored after the results were read may belong to an example that is not in the results.
    const position = positions.get(exampleId);
    if (position !== undefined) {
      sums[position] = (sums[position] ?? 0) + (scores[index] ?? 0);
      counts[position] = (counts[position] ?? 0) + 1;
    }
  });
  // 0 / 0 is NaN, which means that there is no score.
  return sums.map((sum, index) => sum / (counts[index] ?? 0));
}

/** Compares experiments, and reads the requested page of examples. */
export function createComparisonPage(
  experiments: readonly ComparedExperiment[],
  { experimentIds: _ids, comparativeId: _comparative, limit, offset, ...query }: ComparisonRequest,
): ComparisonPage {
  const { exampleCount, matchingCount, keys, readPage } = computeComparison(experiments, query);
  return {
    exampleCount,
    matchingCount,
    experiments: experiments.map(toTotals),
    keys,
    examples: readPage(offset, limit),
  };
}

/** Combines a run of an experiment with the scores and the usage that were read for the runs of its page. */
export function describeComparedRun(
  { row, bodies }: StoredRun,
  {
    scores,
    usage,
    previewChars,
  }: Pick<ComparedRunsQuery, "previewChars"> & {
    /** Mean scores by run and key. */
    readonly scores: ReadonlyMap<string, ReadonlyMap<string, number>>;
    readonly usage: ReadonlyMap<string, TraceUsage>;
  },
): ComparedRun {
  const payloads = mergePayloads(bodies);
  return {
    experimentId: row.projectId,
    exampleId: row.referenceExampleId ?? "",
    id: row.id,
    traceId: row.traceId,
    hasError: row.hasError,
    latencyMicros: row.endMicros === null ? null : row.endMicros - row.startMicros,
    outputs: toPreview(payloads.get("outputs"), previewChars),
    error: toPreview(payloads.get("error"), previewChars),
    scores: Object.fromEntries(scores.get(row.id) ?? []),
    usage: usage.get(row.traceId),
  };
}

/**
 * Returns the beginning of a payload. A character has at most four bytes, so four times as many bytes as characters are
 * decoded. The last `slice` removes the characters beyond the limit.
 */
function toPreview(json: Buffer | undefined, maxChars: number): PayloadPreview | null {
  if (json === undefined || json.toString("latin1", 0, 4) === "null") {
    return null;
  }
  const text = json.toString("utf8", 0, maxChars * 4);
  return { text: text.slice(0, maxChars), sizeBytes: json.length };
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

function toTotals({
  id,
  exampleIds,
  runCounts,
  errorCounts,
}: ComparedExperiment): ExperimentTotals {
  return {
    id,
    exampleCount: exampleIds.length,
    runCount: sum(runCounts),
    errorCount: sum(errorCounts),
  };
}
