import type { ServerInfo } from "../../model/resources/server-info.ts";
import type { ShipReport, ShipTask } from "../../model/records/shipping.ts";
import type { StatsReport } from "../../model/records/stats-report.ts";
import type { InlineShipper } from "./inline-shipper.ts";

/**
 * Largest total size of the tapes that the main thread sends itself. Writing their JSON takes at most a few
 * milliseconds.
 */
const maxBytes = 131_072;
/** A report in flight keeps the process alive for at most this many milliseconds. */
const maxReportMs = 1_000;

/**
 * Sends tapes, the buffers of recorded runs, from the main thread when the program may be about to end before a worker
 * was needed. Starting a worker would take longer than sending a few runs.
 */
export class LastTapes {
  readonly #createShipper: () => Promise<InlineShipper>;
  #shipper: Promise<InlineShipper> | undefined;
  readonly #tasks = new Set<ShipTask>();
  /** Total size of the tapes that are still accepted. */
  #acceptedBytes = 0;
  #hasExpectedEnd = false;
  #serverInfo: ServerInfo | undefined;

  constructor(createShipper: () => Promise<InlineShipper>) {
    this.#createShipper = createShipper;
  }

  /** The tapes that are being sent. */
  get tasks(): readonly ShipTask[] {
    return [...this.#tasks];
  }

  /** The content of the server's `/info`, if it was read while tapes were sent. */
  get serverInfo(): ServerInfo | undefined {
    return this.#serverInfo;
  }

  /**
   * Accepts {@link maxBytes} of tapes until the returned function is called. Only the first call has an effect: a
   * program that continues after a flush needs workers.
   */
  expectEnd(): () => void {
    if (this.#hasExpectedEnd) {
      return () => undefined;
    }
    this.#hasExpectedEnd = true;
    this.#acceptedBytes = maxBytes;
    return () => {
      this.#acceptedBytes = 0;
    };
  }

  /** Whether to pass this tape to {@link ship}. */
  accepts({ usedBytes, from = 0 }: ShipTask): boolean {
    return usedBytes - from <= this.#acceptedBytes;
  }

  /** Sends a tape. Rejects as the shipper does. */
  async ship(task: ShipTask): Promise<ShipReport> {
    const { usedBytes, from = 0 } = task;
    this.#acceptedBytes -= usedBytes - from;
    this.#tasks.add(task);
    try {
      this.#shipper ??= this.#createShipper();
      const report = await (await this.#shipper).ship(task);
      this.#serverInfo = report.server;
      return report;
    } finally {
      this.#tasks.delete(task);
    }
  }

  /** Reports the counts of the client to the server, if tapes were sent. Rejects if there is no response in time. */
  async report(report: StatsReport): Promise<void> {
    await (await this.#shipper)?.report(report, AbortSignal.timeout(maxReportMs));
  }

  /** Closes the connections. Tapes that are still being sent are abandoned. */
  async close(): Promise<void> {
    // If the shipper could not be created, there is nothing to close. The calls that tried to send tapes have failed
    // with the same error.
    const shipper = await this.#shipper?.catch(() => undefined);
    await shipper?.close();
  }
}
