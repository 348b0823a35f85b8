import type { Screen } from "../transfers/show-progress.ts";
import { toPrintable } from "../to-printable.ts";
import type { RowKind } from "./model/tally.ts";

/** Interval between two progress lines if the output is not a terminal, in milliseconds. */
const lineIntervalMs = 5_000;
/** Interval between two updates of the line on a terminal, in milliseconds. */
const updateIntervalMs = 250;
const maxReasonLength = 500;

/** Shows what is being imported: on a terminal, one line that is updated; otherwise a line every five seconds. */
export class ImportProgress {
  readonly #screen: Screen;
  readonly #startedAt = performance.now();
  readonly #counts = new Map<RowKind, number>();
  #rows = 0;
  #label = "";
  #shownAt = performance.now();

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Begins an item, such as a project. */
  begin(label: string): void {
    this.#label = label;
    this.#showIfDue();
  }

  count(kind: RowKind): void {
    this.#rows += 1;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#showIfDue();
  }

  /** Prints why the import is waiting. */
  showWaiting(reason: string): void {
    this.#clear();
    this.#screen.write(`${toPrintable(reason, maxReasonLength)}\n`);
  }

  stop(): void {
    this.#clear();
  }

  #showIfDue(): void {
    const { isTTY, columns = 80 } = this.#screen;
    const now = performance.now();
    if (now - this.#shownAt < (isTTY === true ? updateIntervalMs : lineIntervalMs)) {
      return;
    }
    this.#shownAt = now;
    const text = this.#describe();
    // Leave the last column empty, because some terminals wrap the line when it is written.
    this.#screen.write(isTTY === true ? `\r${text.slice(0, columns - 1)}\u001b[K` : `${text}\n`);
  }

  #describe(): string {
    const counts = [...this.#counts].map(
      ([kind, count]) => `${count.toLocaleString("en")} ${kind}`,
    );
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const rate = `${Math.round(this.#rows / seconds).toLocaleString("en")} rows/s`;
    return [toPrintable(this.#label), ...counts, rate].join(", ");
  }

  #clear(): void {
    if (this.#screen.isTTY === true) {
      this.#screen.write("\r\u001b[K");
    }
  }
}
