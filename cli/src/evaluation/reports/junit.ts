import { relative } from "node:path";
import type { ScoreChange } from "millrace/evaluation";
import type { EvaluationView } from "../evaluation-view.ts";
import { titleOf } from "../evaluation-view.ts";
import { describeChange } from "../summary-lines.ts";
import { describeRow } from "./rows.ts";
import type { ReadRows, ReportContent, UntypedRow } from "./rows.ts";

/**
 * A report that CI systems show. An evaluation is a suite, and a row is a test: it has an error if the target or an
 * evaluator failed, and a failure if one of its scores is worse than that of the baseline. Checks of the command that
 * failed are tests too.
 */
export async function* renderJunit(
  { views, failures }: ReportContent,
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="millrace eval">\n';
  for (const view of views) {
    yield* renderSuite(view, failures, readRows);
  }
  const others = failures.filter((failure) => failure.view === undefined);
  if (others.length > 0) {
    yield `<testsuite name="millrace eval" tests="${others.length}" failures="${others.length}" errors="0">\n`;
    yield* others.map((failure) => renderCheck(failure, "millrace eval"));
    yield "</testsuite>\n";
  }
  yield "</testsuites>\n";
}

async function* renderSuite(
  view: EvaluationView,
  allFailures: ReportContent["failures"],
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  const title = titleOf(view);
  const failures = allFailures.filter((failure) => failure.view === view);
  const regressions = new Map<string, ScoreChange[]>();
  for (const change of view.result?.comparison?.regressions ?? []) {
    regressions.set(change.exampleId, [...(regressions.get(change.exampleId) ?? []), change]);
  }
  // The counts precede the tests, so the rows are read twice.
  const counts = { tests: failures.length, failures: failures.length, errors: 0, ms: 0 };
  for await (const row of readRows(view)) {
    const hasError = findError(row) !== undefined;
    counts.tests += 1;
    counts.errors += hasError ? 1 : 0;
    counts.failures += !hasError && regressions.has(row.exampleId) ? 1 : 0;
    counts.ms += row.durationMs;
  }
  const attributes = [
    `name="${escapeXml(title)}"`,
    `file="${escapeXml(relative(process.cwd(), view.file))}"`,
    `tests="${counts.tests}"`,
    `failures="${counts.failures}"`,
    `errors="${counts.errors}"`,
    `time="${toSeconds(counts.ms)}"`,
  ];
  yield `<testsuite ${attributes.join(" ")}>\n`;
  if (view.url !== undefined) {
    yield `<properties><property name="url" value="${escapeXml(view.url)}"/></properties>\n`;
  }
  yield* failures.map((failure) => renderCheck(failure, title));
  for await (const row of readRows(view)) {
    yield renderRow(row, title, regressions.get(row.exampleId));
  }
  yield "</testsuite>\n";
}

const renderCheck = (
  { check, message }: ReportContent["failures"][number],
  className: string,
): string =>
  `<testcase classname="${escapeXml(className)}" name="${escapeXml(check)}"><failure message="${escapeXml(message)}"/></testcase>\n`;

function renderRow(
  row: UntypedRow,
  className: string,
  regressions: readonly ScoreChange[] | undefined,
): string {
  const start = `<testcase classname="${escapeXml(className)}" name="${escapeXml(describeRow(row))}" time="${toSeconds(row.durationMs)}"`;
  const error = findError(row);
  if (error !== undefined) {
    return `${start}><error message="${escapeXml(error)}"/></testcase>\n`;
  }
  return regressions === undefined
    ? `${start}/>\n`
    : `${start}><failure message="${escapeXml(regressions.map(describeChange).join("; "))}"/></testcase>\n`;
}

/** What failed in a row. */
function findError({ error, scores }: UntypedRow): string | undefined {
  const failed = scores.find((score) => score.error !== undefined);
  return error ?? (failed === undefined ? undefined : `${failed.key}: ${failed.error}`);
}

const toSeconds = (ms: number): string => (ms / 1_000).toFixed(3);

/** Characters that XML 1.0 can't contain, even escaped. */
const forbidden =
  // oxlint-disable-next-line no-control-regex -- the pattern matches control characters
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
  "\r": "&#13;",
  "\t": "&#9;",
};

const escapeXml = (text: string): string =>
  text
    .replaceAll(forbidden, "\ufffd")
    .replaceAll(/[&<>"\n\r\t]/g, (character) => entities[character] ?? "");
