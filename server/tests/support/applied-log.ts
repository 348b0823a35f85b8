import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "nats";
import type { JetStreamManager, NatsConnection } from "nats";
import { ingestStream } from "./nats-cluster.ts";

/** Messages of the log: those after the first number, up to the second. */
export interface MessageRange {
  readonly after: number;
  readonly upTo: number;
}

/** Pauses between two looks at the log, and the longest time of one. */
const pollMs = 20;
const callMs = 2_000;

/**
 * Finds out when the writers have stored what was appended to the log, so that a test reads what it has written neither
 * too early nor much later.
 */
export class AppliedLog implements AsyncDisposable {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection;
    this.#manager = manager;
  }

  /** @param url - the address of the log, such as `nats://a,b,c` */
  static async open(url: string): Promise<AppliedLog> {
    const connection = await connect({
      servers: url.replace("nats://", "").split(","),
      timeout: callMs,
      // A NATS server that a test kills comes back.
      maxReconnectAttempts: -1,
    });
    const manager = await connection.jetstreamManager({ timeout: callMs, checkAPI: false });
    return new AppliedLog(connection, manager);
  }

  /**
   * The number of the newest message.
   *
   * @throws Error the log did not answer in time.
   */
  async readNewest(withinMs: number): Promise<number> {
    const { last_seq: newest } = await this.#readState(performance.now() + withinMs);
    return newest;
  }

  /**
   * Resolves when the log has none of the messages any more: writers delete a message when it is stored.
   *
   * @throws Error one of them is still there.
   */
  async waitUntilApplied({ after, upTo }: MessageRange, withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const { first_seq: oldest, deleted } = await this.#readState(deadline);
      // The server leaves an empty list out.
      const gone = new Set(deleted);
      let waiting = Math.max(oldest, after + 1);
      while (gone.has(waiting)) {
        waiting += 1;
      }
      if (waiting > upTo) {
        return;
      }
      if (performance.now() > deadline) {
        throw new Error(`message ${waiting} of the log is not stored after ${withinMs / 1_000} s`);
      }
      await sleep(pollMs);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }

  /** Asks again while the stream has no leader. */
  async #readState(deadline: number) {
    for (;;) {
      try {
        const { state } = await this.#manager.streams.info(ingestStream, { deleted_details: true });
        return state;
      } catch (cause) {
        if (performance.now() > deadline) {
          throw new Error("the log does not answer", { cause });
        }
        await sleep(pollMs);
      }
    }
  }
}
