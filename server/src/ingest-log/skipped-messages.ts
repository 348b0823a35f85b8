import type { LogConnection } from "./log-connection.ts";
import { logNames } from "./log-limits.ts";
import type { WriterMessage } from "./pulled-messages.ts";

/**
 * A message that the log still has, but counts as acknowledged, so that it will not be delivered any more. It is read
 * by its position, and deleted when its runs are stored.
 */
class SkippedMessage implements WriterMessage {
  readonly data: Uint8Array;
  readonly deliveries: number;
  readonly #log: LogConnection;
  readonly #position: number;
  #deletion: Promise<void> | undefined;

  constructor(
    log: LogConnection,
    {
      data,
      position,
      attempts,
    }: { readonly data: Uint8Array; readonly position: number; readonly attempts: number },
  ) {
    this.data = data;
    this.deliveries = attempts;
    this.#log = log;
    this.#position = position;
  }

  /** Resolves with whether the message was acknowledged, when the log has deleted it. */
  async settle(): Promise<boolean> {
    await this.#deletion;
    return this.#deletion !== undefined;
  }

  acknowledge(): void {
    this.#deletion ??= this.#log.manager.streams
      .deleteMessage(logNames.stream, this.#position, false)
      .then(() => undefined);
    // `settle` reports a failure.
    this.#deletion.catch(() => undefined);
  }

  async acknowledgeConfirmed(): Promise<void> {
    this.acknowledge();
    await this.#deletion;
  }

  /** Does nothing: the next search finds the message again. */
  giveBack(): void {}

  /** Does nothing: the log does not deliver the message. */
  extend(): void {}
}

/**
 * Finds messages that the log has and will never deliver. NATS may count a message as acknowledged although no writer
 * has received it: around an election, it can give a new message the position of a lost one, and it can lose the
 * deletion of a message.
 *
 * The state of the log and that of its consumer come from different NATS servers, one of which may be late. So a
 * message is taken only if an earlier search had found its position acknowledged.
 */
export class SkippedMessages {
  readonly #log: LogConnection;
  /** How often the messages that could not be stored were tried, by position. */
  readonly #attempts = new Map<number, number>();
  /** The log counted all messages up to this position as acknowledged when it was last searched. */
  #acknowledged = 0;

  constructor(log: LogConnection) {
    this.#log = log;
  }

  /**
   * Calls `apply` with each skipped message, until one could not be stored. Returns how many were stored.
   *
   * @throws Error the log can't be reached.
   */
  async search(apply: (message: WriterMessage) => Promise<void>): Promise<number> {
    const upTo = this.#acknowledged;
    this.#acknowledged = await this.#readAcknowledged();
    for (let stored = 0; ; stored += 1) {
      const position = await this.#findOldest();
      if (position === undefined || position > Math.min(upTo, this.#acknowledged)) {
        this.#attempts.clear();
        return stored;
      }
      const attempts = (this.#attempts.get(position) ?? 0) + 1;
      this.#attempts.set(position, attempts);
      const { data } = await this.#log.manager.streams.getMessage(logNames.stream, {
        seq: position,
      });
      const message = new SkippedMessage(this.#log, { data, position, attempts });
      await apply(message);
      if (!(await message.settle())) {
        return stored;
      }
      this.#attempts.delete(position);
    }
  }

  /** The position up to which all messages are acknowledged. */
  async #readAcknowledged(): Promise<number> {
    const { consumers } = this.#log.manager;
    const consumer = await consumers.info(logNames.stream, logNames.consumer);
    const { ack_floor: acknowledged, delivered, num_ack_pending: inWork } = consumer;
    return inWork === 0 ? delivered.stream_seq : acknowledged.stream_seq;
  }

  async #findOldest(): Promise<number | undefined> {
    const { state } = await this.#log.manager.streams.info(logNames.stream);
    return state.messages === 0 ? undefined : state.first_seq;
  }
}
