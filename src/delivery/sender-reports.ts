import { randomUUID } from "node:crypto";
import type { SenderReport } from "../model/records/sender-report.ts";
import type { ClientStats } from "../model/stats.ts";
import { version } from "../model/version.ts";

/** From the first answer of the server to the first report: what was just sent is counted by then. */
const firstMs = 500;
/** Between reports, where something has changed. */
const pauseMs = 5_000;

export interface SenderReportsOptions {
  readonly projectName: string;
  readonly stats: () => ClientStats;
  /** Sends a report. Its outcome is ignored. */
  readonly send: (report: SenderReport) => Promise<void>;
}

/**
 * Reports the counts of this client to the server, for its UI: at most every five seconds, and only after changes. The timers
 * are unref'd. A failed report is not repeated: the next one has the newer counts.
 */
export class SenderReports {
  readonly #options: SenderReportsOptions;
  readonly #id = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #last = "";
  #ended = false;

  constructor(options: SenderReportsOptions) {
    this.#options = options;
  }

  /** The server takes them. Repeated, it changes nothing. */
  begin(): void {
    if (this.#timer === undefined && !this.#ended) {
      this.#wait(firstMs);
    }
  }

  /** Stops reporting. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #wait(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#sendReport();
      this.#wait(pauseMs);
    }, delayMs);
    this.#timer.unref();
  }

  #sendReport(): void {
    const { accepted, delivered, rejected, dropped, spooled, pending } = this.#options.stats();
    const counts = { accepted, delivered, rejected, dropped, spooled, pending };
    const serialized = JSON.stringify(counts);
    if (serialized === this.#last) {
      return;
    }
    this.#last = serialized;
    const { projectName, send } = this.#options;
    const project = projectName.slice(0, 1_024);
    const report = { id: this.#id, project, pid: process.pid, version };
    // Not a record: what fails here is counted nowhere.
    send({ ...report, ...counts }).catch(() => undefined);
  }
}
