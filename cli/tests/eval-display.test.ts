import type { EvaluationProgress } from "millrace/evaluation";
import { describe, expect, test } from "vitest";
import { describeInputs } from "../src/evaluation/describe-inputs.ts";
import { createDisplay, renderTable } from "../src/evaluation/display.ts";
import type { EvaluationView } from "../src/evaluation/evaluation-view.ts";
import { formatCost, formatMs, formatScore } from "../src/evaluation/format.ts";
import { chooseNodeOptions } from "../src/evaluation/loader.ts";

const progress = (rows: number, mean: number): EvaluationProgress => ({
  rows,
  total: 1_200,
  resumed: 0,
  failed: 1,
  evaluatorErrors: 2,
  failureReasons: [],
  scores: { right: { count: rows, mean, errors: 0 } },
  durationMs: { count: rows, p50: 1_234, p90: 2_000, p99: 3_000, max: 3_000 },
  acknowledged: 0,
});

const view = (name: string, rows = 600): EvaluationView => ({
  file: "a.eval.ts",
  id: 0,
  call: "evaluate",
  name,
  progress: progress(rows, 0.8512),
  totalCost: 0.00312,
});

/** A screen that shows what a terminal would show. */
function createTerminal(columns = 80) {
  let lines = [""];
  return {
    isTTY: true,
    columns,
    rows: 24,
    write: (text: string) => {
      // The table is removed by one sequence: up so many lines, then erase what follows.
      const [, up = "", rest = text] = /^.\[(\d+)A.\[J([^]*)$/.exec(text) ?? [];
      if (up !== "") {
        lines = [...lines.slice(0, lines.length - 1 - Number(up)), ""];
      }
      const [first = "", ...others] = rest.split("\n");
      lines = [...lines.slice(0, -1), (lines.at(-1) ?? "") + first, ...others];
    },
    text: () => lines.join("\n"),
  };
}

describe("on a terminal", () => {
  test("a table shows progress, p50, cost, errors and scores, below the lines that are printed", () => {
    const terminal = createTerminal();
    const display = createDisplay(terminal, false);
    display.print("first: http://127.0.0.1");
    display.update([view("first"), view("the second")]);
    display.print("a line of the program");
    display.update([view("first", 700), view("the second")]);
    expect(terminal.text()).toBe(
      [
        "first: http://127.0.0.1",
        "a line of the program",
        "experiment          rows    p50     cost  errors  right",
        "first       700 of 1,200  1.2 s  $0.0031       3  0.851",
        "the second  600 of 1,200  1.2 s  $0.0031       3  0.851",
        "",
      ].join("\n"),
    );
    display.clear();
    expect(terminal.text()).toBe("first: http://127.0.0.1\na line of the program\n");
  });

  test("lines are cut at the width of the terminal", () => {
    const lines = renderTable([view("first")], 20);
    expect(lines).toEqual(["experiment         …", "first       600 of …"]);
  });
});

test.each([
  [true, true],
  [false, false],
])("plain lines every five seconds in CI, and where there is no terminal", (isTTY, isCi) => {
  const written: string[] = [];
  let now = 0;
  const screen = { isTTY, write: (text: string) => written.push(text) };
  const display = createDisplay(screen, isCi, () => now);
  display.update([view("first")]);
  now = 5_000;
  display.update([view("first")]);
  display.update([view("first")]);
  expect(written).toEqual([
    "first: rows 600 of 1,200, p50 1.2 s, cost $0.0031, errors 3, right 0.851\n",
  ]);
});

test("figures have few digits", () => {
  expect([0.5, 1, 0.33333, 12_345].map(formatScore)).toEqual(["0.5", "1", "0.333", "12300"]);
  expect([0.123, 12.34, 1_234].map(formatMs)).toEqual(["0.12 ms", "12 ms", "1.2 s"]);
  expect([undefined, 0, 0.000123, 2.5].map(formatCost)).toEqual([
    "-",
    "$0.00",
    "$0.00012",
    "$2.50",
  ]);
});

describe("a file is run", () => {
  const old = { version: "v20.20.2", stripsTypes: false, hasTypeFlag: false };
  const withoutTsx = (): undefined => undefined;

  test("with tsx, where it is installed", () => {
    const options = chooseNodeOptions("a.eval.ts", () => "/modules/tsx/loader.mjs", old);
    expect(options).toEqual(["--import", "file:///modules/tsx/loader.mjs"]);
    expect(chooseNodeOptions("/none/a.eval.ts")[1]).toMatch(/tsx\/dist\/loader\.mjs$/);
  });

  test("by Node itself otherwise, with a flag where that is needed", () => {
    expect(chooseNodeOptions("a.eval.js", withoutTsx, old)).toEqual([]);
    const withFlag = { ...old, version: "v22.12.0", hasTypeFlag: true };
    expect(chooseNodeOptions("a.eval.ts", withoutTsx, withFlag)).toEqual([
      "--experimental-strip-types",
    ]);
    const newest = { ...withFlag, stripsTypes: true };
    expect(chooseNodeOptions("a.eval.mts", withoutTsx, newest)).toEqual([]);
  });

  test("not at all if nothing can; one sentence says what to install", () => {
    expect(() => chooseNodeOptions("a.eval.ts", withoutTsx, old)).toThrow(
      'a.eval.ts is TypeScript, which Node v20.20.2 does not run by itself; install tsx with "npm install --save-dev tsx", or use Node 22.18 or newer',
    );
  });
});

test("inputs are shown on one line, without control characters, and no character is halved", () => {
  expect(describeInputs({ a: "x\n\u001b[2J\u009b2J\u202e" })).toBe(
    String.raw`{"a":"x\n\u001b[2J\u009b2J\u202e"}`,
  );
  expect(describeInputs("\u{1f600}".repeat(50))).toBe(`"${"\u{1f600}".repeat(39)}…`);
  expect(describeInputs(`x${"\u{1f600}".repeat(50)}`)).toBe(`"x${"\u{1f600}".repeat(38)}…`);
});
