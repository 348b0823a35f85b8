import type { EvaluationView } from "./evaluation-view.ts";
import { getTitle } from "./evaluation-view.ts";
import { countErrors, formatCost, formatMs, formatRows, formatScore } from "./format.ts";

/** The properties of standard output that a display uses. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

/** Prints lines, and shows the evaluations that are running. */
export interface Display {
  readonly print: (line: string) => void;
  /** Shows the state of the evaluations that are running. */
  readonly update: (views: readonly EvaluationView[]) => void;
  /** Removes the running evaluations from the screen. */
  readonly clear: () => void;
}

/** Interval between two lines about an evaluation if the output is not a terminal, in milliseconds. */
const lineIntervalMs = 5_000;

/** On a terminal, shows a table that is redrawn as rows finish; otherwise a plain line every five seconds. */
export function createDisplay(screen: Screen, isCi: boolean, now = Date.now): Display {
  return screen.isTTY === true && !isCi ? new LiveTable(screen) : createPlainDisplay(screen, now);
}

function createPlainDisplay(screen: Screen, now: () => number): Display {
  let lastAt = now();
  return {
    print: (line) => screen.write(`${line}\n`),
    update: (views) => {
      if (now() - lastAt < lineIntervalMs) {
        return;
      }
      lastAt = now();
      for (const view of views.filter(({ progress }) => progress !== undefined)) {
        const [title, ...cells] = toCells(view, listScoreKeys([view]));
        const headers = createHeaders(listScoreKeys([view])).slice(1);
        const facts = cells.map((cell, index) => `${headers[index]} ${cell}`);
        screen.write(`${title}: ${facts.join(", ")}\n`);
      }
    },
    clear: () => undefined,
  };
}

class LiveTable implements Display {
  readonly #screen: Screen;
  #views: readonly EvaluationView[] = [];
  /** Number of lines of the table on the screen. */
  #shownLineCount = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  readonly print = (line: string): void => {
    this.#screen.write(`${this.#createEraseSequence()}${line}\n`);
    this.#shownLineCount = 0;
    this.#draw();
  };

  readonly update = (views: readonly EvaluationView[]): void => {
    this.#views = views;
    this.#draw();
  };

  readonly clear = (): void => {
    this.#screen.write(this.#createEraseSequence());
    this.#shownLineCount = 0;
    this.#views = [];
  };

  #draw(): void {
    const { columns = 80, rows = 24 } = this.#screen;
    // Leaves the last column and the last line empty. Otherwise the terminal scrolls, and the table can't be erased.
    const lines = renderTable(this.#views, columns - 1).slice(0, Math.max(1, rows - 1));
    this.#screen.write(this.#createEraseSequence() + lines.map((line) => `${line}\n`).join(""));
    this.#shownLineCount = lines.length;
  }

  /** Returns the escape sequence that moves the cursor to the start of the table and clears the screen from there. */
  #createEraseSequence(): string {
    return this.#shownLineCount === 0 ? "" : `\u001b[${this.#shownLineCount}A\u001b[J`;
  }
}

/**
 * Renders a table of evaluations that is at most `width` characters wide. Returns no lines if no evaluation has
 * started.
 */
export function renderTable(views: readonly EvaluationView[], width: number): readonly string[] {
  const shown = views.filter(({ progress }) => progress !== undefined);
  if (shown.length === 0) {
    return [];
  }
  const keys = listScoreKeys(shown);
  const table = [createHeaders(keys), ...shown.map((view) => toCells(view, keys))];
  const widths = table[0]?.map((_, column) =>
    Math.max(...table.map((cells) => cells[column]?.length ?? 0)),
  );
  return table.map((cells) =>
    cutLine(
      cells
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths?.[column] ?? 0) : cell.padStart(widths?.[column] ?? 0),
        )
        .join("  "),
      width,
    ),
  );
}

const listScoreKeys = (views: readonly EvaluationView[]): readonly string[] => [
  ...new Set(views.flatMap(({ progress }) => Object.keys(progress?.scores ?? {}))),
];

const createHeaders = (scoreKeys: readonly string[]): readonly string[] => [
  "experiment",
  "rows",
  "p50",
  "cost",
  "errors",
  ...scoreKeys,
];

function toCells(view: EvaluationView, scoreKeys: readonly string[]): readonly string[] {
  const { progress, totalCost } = view;
  if (progress === undefined) {
    return [getTitle(view)];
  }
  const { durationMs, scores } = progress;
  return [
    getTitle(view),
    formatRows(progress),
    durationMs.count === 0 ? "-" : formatMs(durationMs.p50),
    formatCost(totalCost),
    String(countErrors(progress)),
    ...scoreKeys.map((key) => {
      const mean = scores[key]?.mean;
      return mean === undefined ? "-" : formatScore(mean);
    }),
  ];
}

const cutLine = (line: string, width: number): string =>
  line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
