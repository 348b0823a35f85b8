import { relative, sep } from "node:path";
import type { ScoreChange } from "millrace/evaluation";
import type { EvaluationView } from "../evaluation-view.ts";
import { getTitle } from "../evaluation-view.ts";
import { describeRegression } from "../summary-lines.ts";
import { describeRow } from "./rows.ts";
import type { ReadRows, ReportContent, UntypedRow } from "./rows.ts";

/**
 * Renders a report in the JUnit format, which CI systems show. An evaluation is a suite, and a row is a test. A test
 * has an error if the target or an evaluator failed, and a failure if one of its scores is worse than the baseline's.
 * Failed checks of the command are tests too. They are in separate suites, so that the totals of an evaluation count
 * only its rows.
 */
export async function* renderJunit(
  { views, failures }: ReportContent,
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="millrace eval">\n';
  for (const view of views) {
    yield* renderSuite(view, readRows);
    yield* renderChecks(
      `${nameSuite(view)} checks`,
      failures.filter((failure) => failure.view === view),
    );
  }
  yield* renderChecks(
    "millrace eval",
    failures.filter((failure) => failure.view === undefined),
  );
  yield "</testsuites>\n";
}

/**
 * Returns the name of a suite: the path of the file, with a number from the second evaluation of the file on. CI
 * systems identify a test across runs by this name, so it can't contain the name of the experiment, which changes from
 * run to run.
 */
function nameSuite({ file, id }: EvaluationView): string {
  const path = toReportPath(file);
  return id === 0 ? path : `${path} #${id + 1}`;
}

const toReportPath = (file: string): string => relative(process.cwd(), file).replaceAll(sep, "/");

function* renderChecks(name: string, failures: ReportContent["failures"]): Generator<string, void> {
  if (failures.length > 0) {
    yield `<testsuite name="${escapeXml(name)}" tests="${failures.length}" failures="${failures.length}" errors="0">\n`;
    yield* failures.map((failure) => renderCheck(failure, name));
    yield "</testsuite>\n";
  }
}

async function* renderSuite(
  view: EvaluationView,
  readRows: ReadRows,
): AsyncGenerator<string, void> {
  const name = nameSuite(view);
  const regressions = new Map<string, ScoreChange[]>();
  for (const change of view.result?.comparison?.regressions ?? []) {
    regressions.set(change.exampleId, [...(regressions.get(change.exampleId) ?? []), change]);
  }
  // The counts must precede the tests in the file, so the rows are read twice.
  const counts = { tests: 0, failures: 0, errors: 0, ms: 0 };
  for await (const row of readRows(view)) {
    const hasError = findError(row) !== undefined;
    counts.tests += 1;
    counts.errors += hasError ? 1 : 0;
    counts.failures += !hasError && regressions.has(row.exampleId) ? 1 : 0;
    counts.ms += row.durationMs;
  }
  const attributes = [
    `name="${escapeXml(name)}"`,
    `file="${escapeXml(toReportPath(view.file))}"`,
    `tests="${counts.tests}"`,
    `failures="${counts.failures}"`,
    `errors="${counts.errors}"`,
    `time="${toSeconds(counts.ms)}"`,
  ];
  yield `<testsuite ${attributes.join(" ")}>\n`;
  const properties = {
    experiment: getTitle(view),
    ...(view.url !== undefined && { url: view.url }),
  };
  yield `<properties>${Object.entries(properties)
    .map(([key, value]) => `<property name="${key}" value="${escapeXml(value)}"/>`)
    .join("")}</properties>\n`;
  for await (const row of readRows(view)) {
    yield renderRow(row, name, describeAll(regressions.get(row.exampleId), view));
  }
  yield "</testsuite>\n";
}

const renderCheck = (
  { check, message }: ReportContent["failures"][number],
  className: string,
): string =>
  `<testcase classname="${escapeXml(className)}" name="${escapeXml(check)}"><failure message="${escapeXml(message)}"/></testcase>\n`;

function renderRow(row: UntypedRow, className: string, regression: string | undefined): string {
  const start = `<testcase classname="${escapeXml(className)}" name="${escapeXml(describeRow(row))}" time="${toSeconds(row.durationMs)}"`;
  const error = findError(row);
  if (error !== undefined) {
    return `${start}><error message="${escapeXml(error)}"/></testcase>\n`;
  }
  return regression === undefined
    ? `${start}/>\n`
    : `${start}><failure message="${escapeXml(regression)}"/></testcase>\n`;
}

const describeAll = (
  regressions: readonly ScoreChange[] | undefined,
  view: EvaluationView,
): string | undefined => regressions?.map((change) => describeRegression(change, view)).join("; ");

/** Returns the error of a row: that of the target, or else that of the first evaluator that failed. */
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
