import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, RequestError } from "../model/errors.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import { countOperations, divideBatch, joinBatches, joinParts, sumBytes } from "./batch-parts.ts";
import { addDeadLetter } from "./dead-letters.ts";
import type { LogConnection } from "./log-connection.ts";
import { logLimits } from "./log-limits.ts";
import { decodeMessage, encodeBatch, MessageError } from "./message-format.ts";
import { ObjectCleaner } from "./object-cleaner.ts";
import { MessagePuller } from "./pulled-messages.ts";
import type { WriterMessage } from "./pulled-messages.ts";
import { SkippedMessages } from "./skipped-messages.ts";

/** The part of the store in which a writer stores the runs of the log. */
export interface AppliedStore {
  readonly readOnlyReason: string | undefined;
  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult>;
}

/** What a writer has done since its start. */
export interface WriterCounts {
  /** Operations that were stored for the first time. */
  readonly applied: number;
  /** Operations that had been stored before: requests that clients repeated, and messages that were delivered twice. */
  readonly duplicates: number;
  /** Messages that became dead letters. */
  readonly deadLetters: number;
}

interface WriterOptions {
  readonly warn?: (text: string) => void;
  /** Milliseconds between two searches for messages that the log does not deliver. */
  readonly skippedMs?: number;
}

/** A message of the log together with its batch. */
interface ReadMessage {
  readonly message: WriterMessage;
  readonly tenantId: string;
  readonly batch: RunBatch;
  /** The object that contained the batch. */
  readonly object: string | undefined;
}

/** A part of a batch that the store did not accept, and why. */
interface FailedPart {
  readonly batch: RunBatch;
  readonly reason: string;
}

/** Thrown while the store accepts no writes at all. */
class StoreUnavailableError extends Error {}

/**
 * Applies the messages of the log, that is, stores their runs in the database. Any number of writers may do this at the
 * same time, in one process or many: the log gives each message to one of them. A message is acknowledged after its
 * commit, so it is applied at least once; the store recognizes runs that it already has.
 *
 * A message whose runs the store refuses is delivered again a few times, because it may depend on another one that is
 * applied later. Then the refused runs become dead letters. While the store accepts no writes, a writer keeps its
 * messages and waits.
 *
 * States: running -> closing -> closed.
 */
export class IngestWriter {
  readonly #log: LogConnection;
  readonly #store: AppliedStore;
  readonly #warn: (text: string) => void;
  readonly #cleaner: ObjectCleaner;
  readonly #closing = new AbortController();
  /** Messages that are being applied. The log must not deliver them again meanwhile. */
  readonly #inWork = new Set<WriterMessage>();
  /** Each loop pulls messages and applies them, one pull after another; the last one searches for skipped messages. */
  readonly #loops: readonly Promise<void>[];
  readonly #extendTimer: NodeJS.Timeout;
  readonly #counts = { applied: 0, duplicates: 0, deadLetters: 0 };
  /** The services whose outage was reported, so that each outage and each recovery is reported once. */
  readonly #reportedOutages = new Set<"store" | "log">();

  constructor(
    log: LogConnection,
    store: AppliedStore,
    {
      warn = (text) => process.emitWarning(text),
      skippedMs = logLimits.skippedMs,
    }: WriterOptions = {},
  ) {
    this.#log = log;
    this.#store = store;
    this.#warn = warn;
    this.#cleaner = new ObjectCleaner(log);
    this.#extendTimer = setInterval(
      () => this.#inWork.forEach((message) => message.extend()),
      logLimits.extendMs,
    );
    this.#loops = [
      ...Array.from({ length: logLimits.loops }, () => this.#run()),
      this.#searchSkipped(skippedMs),
    ];
  }

  get counts(): WriterCounts {
    return { ...this.#counts };
  }

  /** Completes the commits that were begun, and gives all other messages back to the log. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#loops);
    clearInterval(this.#extendTimer);
    await this.#cleaner.close();
  }

  async #run(): Promise<void> {
    const puller = new MessagePuller(this.#log);
    let failures = 0;
    while (!this.#isClosing) {
      let messages: readonly WriterMessage[] = [];
      try {
        messages = await puller.pull(this.#closing.signal);
        failures = 0;
        this.#reportRecovery("log");
      } catch (cause) {
        this.#reportOutage("log", messageOf(cause));
        await this.#pause(failures);
        failures += 1;
      }
      await this.#tryToApply(messages);
    }
    puller.close();
  }

  /** Applies the messages that the log has and does not deliver, at intervals. */
  async #searchSkipped(intervalMs: number): Promise<void> {
    const skipped = new SkippedMessages(this.#log);
    const wait = () =>
      sleep(intervalMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    for (await wait(); !this.#isClosing; await wait()) {
      try {
        const count = await skipped.search((message) => this.#tryToApply([message]));
        if (count > 0) {
          this.#warn(
            `the ingest log had ${count} message(s) that it did not deliver, after an election of its servers or the loss of one. They are stored now`,
          );
        }
      } catch {
        // The log can't be reached, which the other loops report; or another writer has deleted the message.
      }
    }
  }

  /** Applies messages. Those that are not acknowledged are received again. */
  async #tryToApply(messages: readonly WriterMessage[]): Promise<void> {
    try {
      await this.#applyMessages(messages);
    } catch (cause) {
      this.#warn(`Failed to apply messages of the ingest log: ${messageOf(cause)}`);
      await this.#pause(0);
    }
  }

  async #applyMessages(messages: readonly WriterMessage[]): Promise<void> {
    if (this.#isClosing) {
      messages.forEach((message) => message.giveBack(0));
      return;
    }
    messages.forEach((message) => this.#inWork.add(message));
    try {
      const readMessages: ReadMessage[] = [];
      for (const message of messages) {
        const content = await this.#read(message);
        if (content !== undefined) {
          readMessages.push(content);
        }
      }
      await Promise.all(toGroups(readMessages).map((group) => this.#applyGroup(group)));
    } finally {
      messages.forEach((message) => this.#inWork.delete(message));
    }
  }

  /** Reads a message. One that can't be read is given back, or becomes a dead letter. */
  async #read(message: WriterMessage): Promise<ReadMessage | undefined> {
    let tenantId: string | null = null;
    let { data } = message;
    try {
      const decoded = decodeMessage(message.data);
      tenantId = decoded.tenantId;
      if (decoded.kind === "batch") {
        assertCompletable(message);
        return { message, ...decoded, object: undefined };
      }
      const content = await this.#log.objects.getBlob(decoded.object);
      if (content === null) {
        throw new MessageError(`the object ${decoded.object}, which contains the runs, is missing`);
      }
      // If the object can't be read, the dead letter keeps its content and not only the reference, because the object
      // is deleted after some time.
      data = content;
      const inner = decodeMessage(content);
      if (inner.kind !== "batch") {
        throw new MessageError(`the object ${decoded.object} contains no batch`);
      }
      assertCompletable(message);
      return { message, tenantId, batch: inner.batch, object: decoded.object };
    } catch (cause) {
      const isFinal = cause instanceof MessageError && message.deliveries >= logLimits.attempts;
      const isGivenUp = await this.#giveUpOrGiveBack(
        message,
        isFinal &&
          (async () => {
            await addDeadLetter(this.#log, data, { tenantId, reason: cause.message });
            this.#reportDeadLetters(1, cause.message);
          }),
      );
      if (isGivenUp) {
        message.acknowledge();
      }
      return undefined;
    }
  }

  async #applyGroup(group: readonly ReadMessage[]): Promise<void> {
    const [first] = group;
    if (first === undefined) {
      return;
    }
    if (group.length > 1) {
      const isApplied = await this.#applyJoined(group);
      if (isApplied) {
        return;
      }
    }
    // One after the other, to find the messages that the store does not accept.
    for (const message of group) {
      await this.#applyAlone(message);
    }
  }

  /** Applies several messages in one transaction. Returns false if anything in them was not stored. */
  async #applyJoined(group: readonly ReadMessage[]): Promise<boolean> {
    const batches = group.map(({ batch }) => batch);
    try {
      const result = await this.#store.ingest(group[0]?.tenantId ?? "", joinBatches(batches));
      if (result.rejected.length > 0) {
        this.#counts.applied += result.accepted;
        return false;
      }
      this.#count(result);
    } catch {
      return false; // Each message is applied alone next, which finds and reports the cause.
    }
    await Promise.all(group.map((read) => this.#acknowledge(read)));
    return true;
  }

  async #applyAlone(readMessage: ReadMessage): Promise<void> {
    const { message, tenantId, batch } = readMessage;
    const failed = await this.#applyWhenStoreIsAvailable(tenantId, batch);
    if (failed === undefined) {
      message.giveBack(0);
      return;
    }
    if (failed.length === 0) {
      await this.#acknowledge(readMessage);
      return;
    }
    const isGivenUp = await this.#giveUpOrGiveBack(
      message,
      message.deliveries >= logLimits.attempts && (() => this.#giveUp(tenantId, failed)),
    );
    if (isGivenUp) {
      await this.#acknowledge(readMessage);
    }
  }

  /**
   * Waits, tries to store the failed parts once more, and makes dead letters of those that fail again. Earlier
   * deliveries may have failed for other reasons, such as a restart of the writer.
   */
  async #giveUp(tenantId: string, failed: readonly FailedPart[]): Promise<void> {
    await this.#pause(lastPauseFailures);
    const parts = failed.map(({ batch }) => batch);
    const stillFailed = await this.#applyWhenStoreIsAvailable(tenantId, joinBatches(parts));
    if (stillFailed === undefined) {
      throw new Error("the writer was closed");
    }
    if (stillFailed.length > 0) {
      await this.#addDeadLetters(tenantId, stillFailed);
    }
  }

  /**
   * Applies a batch. Returns the parts that failed; `undefined` if the writer is closed while it waits for the store.
   */
  async #applyWhenStoreIsAvailable(
    tenantId: string,
    batch: RunBatch,
  ): Promise<readonly FailedPart[] | undefined> {
    for (let failures = 0; ; failures += 1) {
      try {
        const failed = await this.#applyParts(tenantId, batch);
        this.#reportRecovery("store");
        return failed;
      } catch (cause) {
        if (!(cause instanceof StoreUnavailableError)) {
          throw cause;
        }
        this.#reportOutage("store", cause.message);
        if (this.#isClosing) {
          return undefined;
        }
        await this.#pause(failures);
      }
    }
  }

  /**
   * Applies a batch. If the store does not accept it, applies its halves, so that a run that can't be stored affects no
   * other run.
   *
   * @throws StoreUnavailableError the store accepts no writes.
   */
  async #applyParts(tenantId: string, batch: RunBatch): Promise<readonly FailedPart[]> {
    let result: IngestResult;
    try {
      result = await this.#store.ingest(tenantId, joinBatches([batch]));
    } catch (cause) {
      await this.#assertStoreIsAvailable(tenantId, cause);
      const units = divideBatch(batch);
      if (units.length <= 1) {
        return [{ batch, reason: messageOf(cause) }];
      }
      const middle = Math.ceil(units.length / 2);
      const halves = [units.slice(0, middle), units.slice(middle)].map((half) =>
        joinParts(half, batch.bodies),
      );
      const failed: FailedPart[] = [];
      for (const half of halves) {
        failed.push(...(await this.#applyParts(tenantId, half)));
      }
      return failed;
    }
    this.#count(result);
    return findRejected(batch, result);
  }

  /**
   * Distinguishes a batch that can't be stored from a store that accepts no writes: tries to store an empty batch.
   *
   * @throws StoreUnavailableError the store accepts no writes.
   */
  async #assertStoreIsAvailable(tenantId: string, cause: unknown): Promise<void> {
    const isOverloaded = cause instanceof RequestError && cause.status === 429;
    const { readOnlyReason } = this.#store;
    if (isOverloaded || readOnlyReason !== undefined) {
      throw new StoreUnavailableError(readOnlyReason ?? messageOf(cause));
    }
    try {
      await this.#store.ingest(tenantId, {
        records: [],
        attachments: [],
        feedback: [],
        bodies: new Uint8Array(0),
      });
    } catch (emptyCause) {
      throw new StoreUnavailableError(messageOf(emptyCause), { cause: emptyCause });
    }
  }

  async #addDeadLetters(tenantId: string, failed: readonly FailedPart[]): Promise<void> {
    for (const { batch, reason } of failed) {
      await addDeadLetter(this.#log, encodeBatch(tenantId, batch), { tenantId, reason });
    }
    this.#reportDeadLetters(failed.length, failed[0]?.reason ?? "");
  }

  #reportDeadLetters(count: number, reason: string): void {
    this.#counts.deadLetters += count;
    this.#warn(
      `${count} part(s) of the ingest log could not be stored and became dead letters; list them with "millrace log dead-letters": ${reason}`,
    );
  }

  /**
   * Gives up a message by calling `giveUp`. If `giveUp` is `false` or fails, gives the message back to the log, which
   * delivers it again later. Returns whether the message was given up.
   */
  async #giveUpOrGiveBack(
    message: WriterMessage,
    giveUp: false | (() => Promise<void>),
  ): Promise<boolean> {
    try {
      if (giveUp !== false) {
        await giveUp();
        return true;
      }
    } catch (cause) {
      if (this.#isClosing) {
        message.giveBack(0);
        return false;
      }
      this.#warn(
        `Failed to store a dead letter of the ingest log; its message stays in the log: ${messageOf(cause)}`,
      );
    }
    const delayMs = logLimits.retryMs * 2 ** (message.deliveries - 1);
    message.giveBack(Math.min(delayMs, logLimits.retryMaxMs));
    return false;
  }

  async #acknowledge({ message, object }: ReadMessage): Promise<void> {
    if (object === undefined) {
      message.acknowledge();
      return;
    }
    try {
      await message.acknowledgeConfirmed();
      this.#cleaner.deleteLater(object);
    } catch {
      // The message is delivered again, and then its object is deleted.
    }
  }

  #count({ accepted, duplicates }: IngestResult): void {
    this.#counts.applied += accepted;
    this.#counts.duplicates += duplicates;
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Waits before another attempt, longer after each failure. Ends when the writer is closed. */
  async #pause(failures: number): Promise<void> {
    const ms = Math.min(logLimits.awayMs * 2 ** failures, logLimits.awayMaxMs);
    await sleep(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  #reportOutage(service: "store" | "log", reason: string): void {
    if (!this.#reportedOutages.has(service) && !this.#isClosing) {
      this.#reportedOutages.add(service);
      this.#warn(
        service === "store"
          ? `the store accepts no writes, so runs wait in the ingest log: ${reason}`
          : `the ingest log can't be read; the writer keeps trying: ${reason}`,
      );
    }
  }

  #reportRecovery(service: "store" | "log"): void {
    if (this.#reportedOutages.delete(service)) {
      this.#warn(
        `the ${service === "store" ? "store accepts runs of" : "writer reads"} the ingest log again`,
      );
    }
  }
}

/** Before parts of a message are given up, the writer pauses for as long as after this many failures. */
const lastPauseFailures = 2;

/** @throws MessageError the message was delivered so often that it probably crashes the writers that apply it. */
function assertCompletable({ deliveries }: WriterMessage): void {
  if (deliveries > logLimits.deliveries) {
    throw new MessageError(
      `it was delivered ${deliveries} times, and no writer has completed it: the writers may have ended while they applied it`,
    );
  }
}

/** Divides messages into groups. The messages of a group belong to one tenant, and are applied in one transaction. */
function toGroups(messages: readonly ReadMessage[]): readonly (readonly ReadMessage[])[] {
  const groups: ReadMessage[][] = [];
  const openGroups = new Map<
    string,
    { readonly group: ReadMessage[]; records: number; bytes: number }
  >();
  for (const message of messages) {
    const [records, bytes] = [countOperations(message.batch), sumBytes(message.batch)];
    const openGroup = openGroups.get(message.tenantId);
    const isWithinLimits =
      openGroup !== undefined &&
      openGroup.records + records <= logLimits.groupRecords &&
      openGroup.bytes + bytes <= logLimits.groupBytes;
    if (isWithinLimits) {
      openGroup.group.push(message);
      openGroup.records += records;
      openGroup.bytes += bytes;
    } else {
      const group = [message];
      groups.push(group);
      openGroups.set(message.tenantId, { group, records, bytes });
    }
  }
  return groups;
}

/** Returns the parts of a batch that the store has rejected. */
function findRejected(batch: RunBatch, { rejected }: IngestResult): readonly FailedPart[] {
  if (rejected.length === 0) {
    return [];
  }
  // A rejection that names an operation is about a run; any other one is about a file or feedback of the run.
  const [runRejections, otherRejections] = [true, false].map(
    (isRun) =>
      new Map(
        rejected
          .filter(({ operation }) => (operation !== null) === isRun)
          .map(({ id, reason }) => [id, reason]),
      ),
  );
  const failed = divideBatch(batch).flatMap((unit): FailedPart[] => {
    const reason =
      unit.records.map(({ id }) => runRejections?.get(id)).find(isText) ??
      [...unit.attachments, ...unit.feedback]
        .map(({ runId }) => otherRejections?.get(runId))
        .find(isText);
    return reason === undefined ? [] : [{ batch: unit, reason }];
  });
  // A rejection that names no part of the batch is about all of it.
  return failed.length > 0 ? failed : [{ batch, reason: rejected[0]?.reason ?? "" }];
}

const isText = (value: string | undefined): value is string => value !== undefined;
