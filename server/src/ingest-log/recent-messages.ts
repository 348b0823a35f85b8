import { logLimits } from "./log-limits.ts";

/** The log as {@link RecentMessages} observes it. */
export interface DisturbedLog {
  /** Increases whenever the log may have lost messages. */
  readonly disturbances: number;
  /**
   * The position of the oldest message that waits in the log: writers have stored the earlier ones. If none waits, it
   * is the position of the next message. `undefined` while it is unknown.
   */
  readonly oldestPosition: number | undefined;
}

/** How long messages are kept; see {@link RecentMessages}. */
export interface RecentMessageLimits {
  /** Milliseconds for which a message is kept at least, and between two checks for a disturbance. */
  readonly keepMs: number;
  readonly checkMs: number;
  /** Milliseconds without another disturbance after which kept messages are stored again. */
  readonly quietMs: number;
  /** Maximum bytes of kept messages. Above this, the oldest are no longer kept. */
  readonly bytes: number;
}

const recentLimits: RecentMessageLimits = {
  keepMs: logLimits.recentMs,
  checkMs: logLimits.recentCheckMs,
  quietMs: logLimits.quietMs,
  bytes: logLimits.recentBytes,
};

/**
 * Stores a message that the log may have lost. Returns how many of its operations the database did not have; 0 if that
 * is not known. If it rejects, it is called again later.
 */
export type StoreAgain = (tenantId: string, message: Uint8Array) => Promise<number>;

/** A message that the log has acknowledged. */
export interface AcknowledgedMessage {
  readonly tenantId: string;
  readonly message: Uint8Array;
  /** Its position in the log. */
  readonly position: number;
}

interface KeptMessage extends AcknowledgedMessage {
  readonly timeMs: number;
}

/**
 * Keeps what the log has acknowledged until writers have stored it, and stores it again after a disturbance, such as
 * the election of a leader. NATS can lose messages that a leader acknowledged shortly before or after another server
 * became leader. It can also lose older ones, when a server that lacks messages becomes leader: NATS 2.9 was seen to
 * skip a message on one server that the others had. Storing a message twice is harmless, because the database
 * recognizes runs that it has.
 *
 * States: undisturbed -> disturbed (nothing is dropped because of its age) -> undisturbed, after `quietMs` without
 * another disturbance and when everything that was kept has been stored again.
 */
export class RecentMessages {
  readonly #log: DisturbedLog;
  readonly #store: StoreAgain;
  readonly #limits: RecentMessageLimits;
  readonly #timer: NodeJS.Timeout;
  readonly #kept: KeptMessage[] = [];
  #bytes = 0;
  #seenDisturbances: number;
  #disturbedMs: number | undefined;
  #storedAgain = 0;
  #storing: Promise<void> = Promise.resolve();
  #isStoring = false;

  constructor(log: DisturbedLog, store: StoreAgain, limits: RecentMessageLimits = recentLimits) {
    this.#log = log;
    this.#store = store;
    this.#limits = limits;
    this.#seenDisturbances = log.disturbances;
    this.#timer = setInterval(() => this.#check(), limits.checkMs);
    this.#timer.unref();
  }

  /** Messages that were stored again. */
  get storedAgain(): number {
    return this.#storedAgain;
  }

  /** Keeps a message that the log has just acknowledged. */
  add(message: AcknowledgedMessage): void {
    this.#kept.push({ ...message, timeMs: performance.now() });
    this.#bytes += message.message.byteLength;
    while (this.#bytes > this.#limits.bytes) {
      this.#dropFirst();
    }
  }

  /** Ends the checks. If the log was disturbed, stores the kept messages again at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#storing;
    this.#observe();
    if (this.#disturbedMs !== undefined) {
      await this.#storeAll();
    }
  }

  #check(): void {
    this.#observe();
    const now = performance.now();
    if (this.#disturbedMs === undefined) {
      this.#dropStored(now);
    } else if (now - this.#disturbedMs >= this.#limits.quietMs && !this.#isStoring) {
      this.#isStoring = true;
      this.#storing = this.#storeAll().finally(() => {
        this.#isStoring = false;
      });
    }
  }

  #observe(): void {
    const { disturbances } = this.#log;
    if (disturbances !== this.#seenDisturbances) {
      this.#seenDisturbances = disturbances;
      this.#disturbedMs = performance.now();
    }
  }

  /** Stores the messages that were kept until now. Those that can't be stored are kept for a later check. */
  async #storeAll(): Promise<void> {
    const startMs = performance.now();
    let [stored, missing] = [0, 0];
    try {
      for (;;) {
        const [first] = this.#kept;
        if (first === undefined || first.timeMs > startMs) {
          break;
        }
        missing += await this.#store(first.tenantId, first.message);
        stored += 1;
        // The message may have been dropped while it was stored, because too much was kept.
        if (this.#kept[0] === first) {
          this.#dropFirst();
        }
      }
      // A disturbance that happened meanwhile is found by the next check.
      this.#disturbedMs = undefined;
    } catch {
      // A later check tries again, after another `quietMs`.
      this.#disturbedMs = performance.now();
    }
    if (stored > 0) {
      this.#storedAgain += stored;
      process.emitWarning(
        `the ingest log was disturbed, for example by the election of a leader: ${stored} messages that it had acknowledged around that time were stored again, in case it lost them. The database did not have ${missing} of their runs and updates`,
      );
    }
  }

  /**
   * Drops the messages that writers have stored. Each is kept for a while, in case a disturbance becomes known late.
   */
  #dropStored(now: number): void {
    const { oldestPosition = 0 } = this.#log;
    for (
      let [first] = this.#kept;
      first !== undefined &&
      first.position < oldestPosition &&
      now - first.timeMs > this.#limits.keepMs;
      [first] = this.#kept
    ) {
      this.#dropFirst();
    }
  }

  #dropFirst(): void {
    this.#bytes -= this.#kept.shift()?.message.byteLength ?? 0;
  }
}
