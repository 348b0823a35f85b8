import { randomUUID } from "node:crypto";
import type { StatsReport } from "../model/records/stats-report.ts";
import type { RecordingStats } from "../model/stats.ts";
import { version } from "../model/version.ts";

/**
 * Milliseconds from the server's first response to the first report, so that the report contains
 * the records just sent.
 */
const firstDelayMs = 500;
/** Milliseconds between two reports, if a count has changed. */
const reportIntervalMs = 5_000;

/** Options of {@link StatsReports}. */
export interface StatsReportsOptions {
  readonly projectName: string;
  readonly readStats: () => RecordingStats;
  /** Sends a report. A failure is ignored. */
  readonly send: (report: StatsReport) => Promise<void>;
}

/**
 * Reports to the server, for its UI, how many records this client has accepted, delivered, lost and spooled, and how
 * many have no outcome yet: at most every five seconds, and only after changes. The timers are unref'd. A failed report
 * is not repeated: the next one has the newer counts.
 */
export class StatsReports {
  readonly #options: StatsReportsOptions;
  readonly #clientId = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #lastSerializedCounts = "";
  #hasEnded = false;

  constructor(options: StatsReportsOptions) {
    this.#options = options;
  }

  /** Starts reporting. Call it once it is known that the server accepts reports; repeated calls have no effect. */
  start(): void {
    if (this.#timer === undefined && !this.#hasEnded) {
      this.#scheduleReport(firstDelayMs);
    }
  }

  /** Stops the reports for good: a later `start` has no effect. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #scheduleReport(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#sendReport();
      this.#scheduleReport(reportIntervalMs);
    }, delayMs);
    this.#timer.unref();
  }

  #sendReport(): void {
    const { accepted, delivered, rejected, dropped, spooled, pending } = this.#options.readStats();
    const counts = { accepted, delivered, rejected, dropped, spooled, pending };
    const serialized = JSON.stringify(counts);
    if (serialized === this.#lastSerializedCounts) {
      return;
    }
    this.#lastSerializedCounts = serialized;
    const { projectName, send } = this.#options;
    const project = projectName.slice(0, 1_024);
    const report = { id: this.#clientId, project, pid: process.pid, version };
    // A failed report is ignored: only the outcomes of records are counted.
    send({ ...report, ...counts }).catch(() => undefined);
  }
}
