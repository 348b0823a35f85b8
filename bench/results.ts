import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { replaceSection } from "./results-page.ts";

const resultsFile = new URL("RESULTS.md", import.meta.url);

/** Describes the origin of figures: Node version, machine and commit. */
export function describeOrigin(): string {
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  return [
    `Node ${process.version.slice(1)}, ${process.platform} ${process.arch}`,
    `${availableParallelism()} cores of ${model}, ${memoryGb} GB, load ${formatNumber(loadavg()[0] ?? 0)}`,
    `commit ${readCommit()}`,
  ].join("; ");
}

function readCommit(): string {
  try {
    const changed = git("status", "--porcelain", "--", ...measuredCode) !== "";
    return git("rev-parse", "--short", "HEAD") + (changed ? " with changes" : "");
  } catch {
    return "unknown";
  }
}

/** Paths of the measured code. If they have uncommitted changes, the results state that. */
const measuredCode = ["../src", "../cli/src/bench", ".", ":!RESULTS.md", ":!results.svg"];

const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();

export interface Section {
  /** The npm script that measures it. */
  readonly script: string;
  /** Name of the section in RESULTS.md, if one script has several. @defaultValue the script */
  readonly section?: string;
  readonly question: string;
  readonly body: string;
  /** The Node version of the measured processes, if it differs from the running one. */
  readonly node?: string | undefined;
}

/** Prints the results of a bench. With `--save` it also replaces the bench's section in RESULTS.md. */
export function publish({ script, section = script, question, body, node }: Section): void {
  const flags = process.argv.slice(2).map(redactLocation);
  const command = ["npm --prefix bench run", script, ...(flags.length > 0 ? ["--"] : []), ...flags];
  const clientNode = node === undefined ? "" : `Clients under Node ${node}; harness: `;
  const text = `## ${question}\n\n\`${command.join(" ")}\`\n${clientNode}${describeOrigin()}\n\n${body}\n`;
  console.log(`\n${text}`);
  if (flags.includes("--save")) {
    writeFileSync(resultsFile, replaceSection(readResults(), section, text));
  }
}

/** Replaces paths and URLs, so that the results name no folder and no database of the machine. */
function redactLocation(flag: string): string {
  if (flag.startsWith("/")) {
    return "FOLDER";
  }
  return flag.startsWith("postgres://") ? "URL" : flag;
}

function readResults(): string {
  try {
    return readFileSync(resultsFile, "utf8");
  } catch {
    return "";
  }
}

/** Formats a Markdown table. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  return [formatRow(head), formatRow(head.map(() => "---")), ...rows.map(formatRow)].join("\n");
}

const formatRow = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Formats a number with three significant digits; numbers from 1,000 on as integers with thousands separators. */
export const formatNumber = (value: number): string =>
  Math.abs(value) >= 1_000
    ? Math.round(value).toLocaleString("en-US")
    : String(Number(value.toPrecision(3)));

/** Formats the median and the range of values. */
export const formatSpread = (values: readonly number[]): string =>
  `${formatNumber(median(values))} (${formatNumber(Math.min(...values))}–${formatNumber(Math.max(...values))})`;
