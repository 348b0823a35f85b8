import { describeFailure } from "../checks.ts";
import type { EvaluationView } from "../evaluation-view.ts";
import { getTitle } from "../evaluation-view.ts";
import { countErrors, formatCost, formatMs, formatScore } from "../format.ts";
import { describeRegression } from "../summary-lines.ts";
import { describeRow } from "./rows.ts";
import type { ReadRows, ReportContent } from "./rows.ts";

/** Maximum number of regressions, and of failed rows, that are listed for each evaluation. */
const maxItems = 20;

/** Renders a report for people as Markdown, such as for a comment on a pull request. */
export async function* renderMarkdown(
  { views, failures }: ReportContent,
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  yield `# Evaluation: ${failures.length === 0 ? "passed" : "failed"}\n\n`;
  yield* failures.map((failure) => `- ${escapeMarkdown(describeFailure(failure))}\n`);
  const keys = [...new Set(views.flatMap(({ result }) => Object.keys(result?.scores ?? {})))];
  const headers = ["experiment", "rows", ...keys.map(escapeMarkdown), "p50", "cost", "errors"];
  yield `${failures.length === 0 ? "" : "\n"}| ${headers.join(" | ")} |\n|${" --- |".repeat(headers.length)}\n`;
  for (const view of views) {
    yield `| ${toCells(view, keys).join(" | ")} |\n`;
  }
  for (const view of views) {
    yield* renderDetails(view, readRows);
  }
}

function toCells(
  { result, totalCost, url, ...view }: EvaluationView,
  keys: readonly string[],
): readonly string[] {
  const title = escapeMarkdown(getTitle(view));
  const linked = url === undefined ? title : `[${title}](${url})`;
  if (result === undefined) {
    return [linked, ...Array.from({ length: keys.length + 4 }, () => "-")];
  }
  return [
    linked,
    String(result.rows),
    ...keys.map((key) => {
      const mean = result.scores[key]?.mean;
      return mean === undefined ? "-" : formatScore(mean) + formatDifference(result, key);
    }),
    result.durationMs.count === 0 ? "-" : formatMs(result.durationMs.p50),
    formatCost(totalCost),
    String(countErrors(result)),
  ];
}

/** Formats the difference from the baseline, such as ` (-0.02)`. */
function formatDifference(
  { comparison }: NonNullable<EvaluationView["result"]>,
  key: string,
): string {
  const difference = comparison?.scores[key]?.difference;
  return difference === undefined
    ? ""
    : ` (${difference < 0 ? "" : "+"}${formatScore(difference)})`;
}

async function* renderDetails(
  view: EvaluationView,
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  const { comparison } = view.result ?? {};
  const title = escapeMarkdown(getTitle(view));
  if (comparison !== undefined && comparison.regressionCount > 0) {
    yield `\n## ${title}: regressions against ${escapeMarkdown(comparison.baseline.name)}\n\n`;
    for (const change of comparison.regressions.slice(0, maxItems)) {
      yield `- ${escapeMarkdown(describeRegression(change, view))}\n`;
    }
    yield describeOthers(comparison.regressionCount);
  }
  let count = 0;
  for await (const row of readRows(view)) {
    const errors = [
      ...(row.error === undefined ? [] : [row.error]),
      ...row.scores.flatMap(({ key, error }) => (error === undefined ? [] : [`${key}: ${error}`])),
    ];
    if (errors.length > 0) {
      count += 1;
      yield count === 1 ? `\n## ${title}: errors\n\n` : "";
      yield count <= maxItems
        ? `- ${escapeMarkdown(`${describeRow(row)}: ${errors.join("; ")}`)}\n`
        : "";
    }
  }
  yield describeOthers(count);
}

const describeOthers = (count: number): string =>
  count > maxItems ? `- and ${count - maxItems} others\n` : "";

/** Escapes the special characters of Markdown, except `>` in an arrow, and puts the text on one line. */
const escapeMarkdown = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<|#]|(?<!-)>/g, "\\$&");
