import type { UploadProgress } from "millrace";
import { describe, expect, test } from "vitest";
import { fitLine, showProgress, ProgressMeter } from "../src/transfers/show-progress.ts";
import { formatFileResult } from "../src/transfers/upload-report.ts";

const progress: UploadProgress = {
  read: 12_000,
  created: 11_000,
  skipped: 990,
  rejected: 10,
  bytes: 1,
  seconds: 6,
  firstRow: 1,
};

const textOf = (about: Partial<UploadProgress>, done: number | undefined): string =>
  new ProgressMeter().describe({ ...progress, ...about }, done);

/** A terminal of this width, which collects what is written to it. */
function terminal(columns: number) {
  const written: string[] = [];
  const screen = { isTTY: true, columns, write: (text: string) => written.push(text) };
  return { written, screen };
}

describe("the progress of an upload", () => {
  test("shows share, rows, rate, rejected rows and the remaining time", () => {
    expect(textOf({}, 0.25)).toBe("25%, 12,000 rows, 2,000 rows/s, 10 rejected, 0:18 left");
    expect(textOf({ rejected: 0 }, undefined)).toBe("12,000 rows, 2,000 rows/s");
    expect(textOf({ seconds: 1_000 }, 0.1)).toContain("2:30:00 left");
  });

  test("of a resumed upload counts only its own work", () => {
    const work = new ProgressMeter();
    const at = (read: number, seconds: number, done: number): string =>
      work.describe({ ...progress, rejected: 0, firstRow: 900_001, read, seconds }, done);
    // 900,000 rows are skipped in three seconds, which says nothing about the rate or the remaining time.
    expect(at(500_000, 2, 0.5)).toBe("skipping 900,000 rows that were uploaded before");
    expect(at(900_000, 3, 0.9)).toBe("skipping 900,000 rows that were uploaded before");
    expect(at(900_001, 3, 0.9)).toMatch(/^90%, 900,001 rows, 0 rows\/s$/);
    expect(at(910_000, 13, 0.91)).toBe("91%, 910,000 rows, 1,000 rows/s, 1:30 left");
  });

  test("in the report of a file excludes the rows that were uploaded before", () => {
    const result = {
      ...progress,
      file: "a.csv",
      read: 1_000,
      seconds: 2,
      faults: [],
      warnings: [],
    };
    expect(formatFileResult({ ...result, firstRow: 801 }, false)).toContain("2.0 s, 100 rows/s\n");
    expect(formatFileResult(result, false)).toContain("2.0 s, 500 rows/s\n");
  });

  test.each([20, 40, 60, 80, 81, 120])("fits %i columns for any name", (columns) => {
    for (const name of ["a.csv", "a-file-with-a-rather-long-name-of-2026-11.jsonl.gz"]) {
      const { written, screen } = terminal(columns);
      const bar = showProgress(screen, `/some/folder/that/is/deep/${name}`, () => 0.5);
      bar.update({ ...progress, read: 12_345_678, seconds: 4_000 });
      const line = (written[0] ?? "").replace("\r", "").replace("\u001b[K", "");
      expect(line.length).toBeLessThan(columns);
      expect(line).not.toContain("/folder");
    }
  });

  test("shows its figures in full at 80 columns, and drops the bar and then the name first", () => {
    const text = "50%, 12,345,678 rows, 3,086 rows/s, 10 rejected, 1:06:40 left";
    expect(fitLine({ name: "/x/a.csv", fractionRead: 0.5, text }, 79)).toBe(
      `a.csv [=====    ] ${text}`,
    );
    const long = fitLine({ name: "/x/a-long-name-of-rows.jsonl", fractionRead: 0.5, text }, 79);
    expect(long).toBe(`a-long-name-of-r… ${text}`);
    expect(fitLine({ name: "/x/a.csv", fractionRead: undefined, text }, 79)).toBe(`a.csv ${text}`);
  });

  test("is removed at the end, and writes nothing at first without a terminal", () => {
    const { written, screen } = terminal(80);
    const bar = showProgress(screen, "a.csv", () => 0.5);
    bar.update(progress);
    bar.stop();
    expect(written.at(-1)).toBe("\r\u001b[K");
    let shown = "";
    showProgress({ write: (text: string) => (shown += text) }, "a.csv", () => 0.5).update(progress);
    expect(shown).toBe("");
  });

  test("reports at once that the server does not respond, and why", () => {
    let shown = "";
    const lines = showProgress({ write: (text: string) => (shown += text) }, "a.csv", () => 0.5);
    lines.showWaiting(new Error("Failed to create examples: connect ECONNREFUSED 127.0.0.1:9"));
    expect(shown).toBe("waiting for the server: connect ECONNREFUSED 127.0.0.1:9\n");
  });
});
