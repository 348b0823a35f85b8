import { Summary } from "../summary.ts";
import type { EvaluationProgress } from "../result.ts";
import { describeProblem } from "./test-result.ts";
import type { TestResult } from "./test-result.ts";

/** The tests of one experiment, or of one dataset if no results are stored. */
interface ResultGroup extends Pick<TestResult, "dataset" | "experiment"> {
  readonly summary: Summary;
}

/** Formats a table of scores for each experiment, and each warning once. */
export function formatResults(results: Iterable<TestResult>): string {
  const groups = new Map<string, ResultGroup>();
  const warnings = new Map<string, string>();
  for (const { dataset, experiment, problem, scores, durationMs, hasFailed } of results) {
    const key = experiment?.id ?? `dataset ${dataset}`;
    const group = groups.get(key) ?? { dataset, experiment, summary: new Summary() };
    groups.set(key, group);
    group.summary.addRow({
      scores,
      durationMs,
      ...(hasFailed ? { error: "failed" } : {}),
      isResumed: false,
    });
    if (problem !== undefined && !warnings.has(problem)) {
      warnings.set(problem, dataset);
    }
  }
  return [
    ...[...groups.values()].map(formatGroup),
    ...[...warnings].map(
      ([problem, dataset]) => ` Warning: ${describeProblem(dataset, problem)}\n`,
    ),
  ].join("\n");
}

function formatGroup({ dataset, experiment, summary }: ResultGroup): string {
  const progress = summary.progress();
  const { rows, failed, durationMs } = progress;
  return [
    ` ${dataset}${experiment === undefined ? "" : ` (${experiment.name})`}`,
    ...formatTable(progress).map((line) => `   ${line}`),
    `   ${rows} tests, ${failed} failed${durationMs.count === 0 ? "" : `, p50 ${Math.round(durationMs.p50)} ms`}`,
    ...(experiment?.url === undefined ? [] : [`   ${experiment.url}`]),
    "",
  ].join("\n");
}

function formatTable({ scores }: EvaluationProgress): readonly string[] {
  const table = [
    ["score", "average", "min", "max", "count", "errors"],
    ...Object.entries(scores).map(([key, { mean, min, max, count, errors }]) => [
      key,
      formatNumber(mean),
      formatNumber(min),
      formatNumber(max),
      String(count),
      String(errors),
    ]),
  ];
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((cells) => cells[column]?.length ?? 0)),
  );
  return table.map((cells) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
}

function formatNumber(value: number | undefined): string {
  if (value === undefined) {
    return "";
  }
  return Number.isInteger(value) ? String(value) : value.toFixed(3);
}
