import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { withSection } from "./results-page.ts";

const resultsFile = new URL("RESULTS.md", import.meta.url);

/** Where a figure comes from: it means nothing without. */
export function provenance(): string {
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  return [
    `Node ${process.version.slice(1)}, ${process.platform} ${process.arch}`,
    `${availableParallelism()} cores of ${model}, ${memoryGb} GB, load ${show(loadavg()[0] ?? 0)}`,
    `commit ${commit()}`,
  ].join("; ");
}

function commit(): string {
  try {
    const changed = git("status", "--porcelain", "--", ...measuredCode) !== "";
    return git("rev-parse", "--short", "HEAD") + (changed ? " with changes" : "");
  } catch {
    return "unknown";
  }
}

/** A result is of a commit where these are as the commit has them. */
const measuredCode = ["../src", "../cli/src/bench", ".", ":!RESULTS.md", ":!results.svg"];

const git = (...args: readonly string[]): string =>
  execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim();

export interface Section {
  /** The script of package.json that makes it. */
  readonly script: string;
  /** What it is kept under, where one script answers several questions. @defaultValue the script */
  readonly section?: string;
  readonly question: string;
  readonly body: string;
  /** The Node that the measured processes ran under, where it is not this one. */
  readonly node?: string | undefined;
}

/** Prints a bench's results; with `--save` also puts them in RESULTS.md, in place of its last. */
export function publish({ script, section = script, question, body, node }: Section): void {
  const flags = process.argv.slice(2);
  const command = ["npm --prefix bench run", script, ...(flags.length > 0 ? ["--"] : []), ...flags];
  const under = node === undefined ? "" : `Clients under Node ${node}; harness: `;
  const text = `## ${question}\n\n\`${command.join(" ")}\`\n${under}${provenance()}\n\n${body}\n`;
  console.log(`\n${text}`);
  if (flags.includes("--save")) {
    writeFileSync(resultsFile, withSection(readResults(), section, text));
  }
}

function readResults(): string {
  try {
    return readFileSync(resultsFile, "utf8");
  } catch {
    return "";
  }
}

/** A Markdown table. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const below = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const above = sorted[Math.floor(middle)] ?? Number.NaN;
  return (below + above) / 2;
}

/** Three significant digits, thousands set apart. */
export const show = (value: number): string =>
  Math.abs(value) >= 1_000
    ? Math.round(value).toLocaleString("en-US")
    : String(Number(value.toPrecision(3)));

/** Median and range. */
export const spread = (values: readonly number[]): string =>
  `${show(median(values))} (${show(Math.min(...values))}–${show(Math.max(...values))})`;
