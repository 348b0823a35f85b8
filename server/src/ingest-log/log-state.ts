import type { LogConnection } from "./log-connection.ts";
import { logLimits, logNames } from "./log-limits.ts";
import type { LogState } from "./log-report.ts";

/**
 * Reads the state of the log.
 *
 * @throws Error the log can't be reached.
 */
export const readLogState = async (log: LogConnection): Promise<LogState> =>
  (await readLog(log)).state;

/** Reads the state of the log, and the position of the oldest message that waits, or of the next one if none waits. */
async function readLog(
  log: LogConnection,
): Promise<{ readonly state: LogState; readonly oldestPosition: number }> {
  const { streams, consumers } = log.manager;
  const [stream, dead, consumer, objects] = await Promise.all([
    streams.info(logNames.stream),
    streams.info(logNames.deadStream),
    consumers.info(logNames.stream, logNames.consumer),
    log.objects.status(),
  ]);
  const { messages, bytes, first_ts: firstTime, first_seq: first, last_seq: last } = stream.state;
  return {
    oldestPosition: messages === 0 ? last + 1 : first,
    state: {
      waitingMessages: messages,
      waitingBytes: bytes,
      maxBytes: stream.config.max_bytes,
      inWork: consumer.num_ack_pending,
      lagSeconds: messages === 0 ? 0 : Math.max(0, (Date.now() - Date.parse(firstTime)) / 1_000),
      deadLetters: dead.state.messages,
      objectBytes: objects.size,
      replicas: stream.config.num_replicas,
    },
  };
}

/** The last known state of the log, which a server reads without waiting. */
export interface ObservedLog {
  /** The position of the oldest message that waits, or of the next one if none waits; `undefined` if it is unknown. */
  readonly oldestPosition: number | undefined;
  /** What waits in the log; `undefined` if it is unknown. */
  readonly waiting: WaitingBytes | undefined;
}

interface WaitingBytes {
  readonly bytes: number;
  readonly maxBytes: number;
  /** The number of the reading that returned these values. */
  readonly reading: number;
}

/** Reads the state of the log at intervals, so that requests, health checks and metrics need not wait for it. */
export class LogMonitor implements ObservedLog {
  readonly #log: LogConnection;
  readonly #timer: NodeJS.Timeout;
  #lastReading: Awaited<ReturnType<typeof readLog>> | undefined;
  #lastReadMs = 0;
  #readingCount = 0;
  #reading: Promise<void> = Promise.resolve();
  #isReading = false;

  constructor(log: LogConnection) {
    this.#log = log;
    this.#timer = setInterval(() => this.#refresh(), logLimits.stateMs);
    this.#refresh();
  }

  get isConnected(): boolean {
    return this.#log.isConnected;
  }

  get reconnects(): number {
    return this.#log.reconnects;
  }

  /**
   * The state that was read last; `undefined` before the first reading, and if the state could not be read for some
   * time.
   */
  get state(): LogState | undefined {
    return this.#freshReading?.state;
  }

  get oldestPosition(): number | undefined {
    return this.#freshReading?.oldestPosition;
  }

  get waiting(): WaitingBytes | undefined {
    const { state } = this;
    return (
      state && { bytes: state.waitingBytes, maxBytes: state.maxBytes, reading: this.#readingCount }
    );
  }

  get #freshReading() {
    return Date.now() - this.#lastReadMs > logLimits.staleMs ? undefined : this.#lastReading;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  #refresh(): void {
    if (this.#isReading) {
      return;
    }
    this.#isReading = true;
    this.#reading = this.#read().finally(() => {
      this.#isReading = false;
    });
  }

  async #read(): Promise<void> {
    try {
      this.#lastReading = await readLog(this.#log);
      this.#lastReadMs = Date.now();
      this.#readingCount += 1;
    } catch {
      // The state stays as it was last read, until it is too old.
    }
  }
}
