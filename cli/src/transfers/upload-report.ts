import { standardInput } from "../rows/byte-source.ts";
import type { FileResult } from "./upload-file.ts";

const formatCount = (value: number, word: string): string =>
  `${value.toLocaleString("en")} ${word}`;

/** Formats the result of uploading one file as text. */
export function formatFileResult(result: FileResult, isDryRun: boolean): string {
  const { file, read, created, skipped, rejected, seconds, firstRow, rejectedFile } = result;
  // Rows that an earlier upload finished are not part of the rate.
  const ownRowCount = read - Math.min(read, firstRow - 1);
  const rate = seconds > 0 ? Math.round(ownRowCount / seconds).toLocaleString("en") : "n/a";
  const name = file === standardInput ? "standard input" : file;
  const countTexts = [
    formatCount(read, "rows"),
    isDryRun ? formatCount(created, "would be created") : formatCount(created, "created"),
    formatCount(skipped, "skipped"),
    isDryRun ? formatCount(rejected, "would be rejected") : formatCount(rejected, "rejected"),
  ];
  const lines = [
    `${name}: ${countTexts.join(", ")}; ${seconds.toFixed(1)} s, ${rate} rows/s`,
    ...(firstRow > 1 ? [`  resumed at row ${firstRow.toLocaleString("en")}`] : []),
    ...(rejectedFile === undefined ? [] : [`  rejected rows are in ${rejectedFile}`]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Sums the counts of all files. */
export function sumResults(results: readonly FileResult[]): Readonly<Record<string, number>> {
  const sum = (name: "read" | "created" | "skipped" | "rejected" | "bytes" | "seconds"): number =>
    results.reduce((total, result) => total + result[name], 0);
  return {
    read: sum("read"),
    created: sum("created"),
    skipped: sum("skipped"),
    rejected: sum("rejected"),
    bytes: sum("bytes"),
    seconds: sum("seconds"),
  };
}
