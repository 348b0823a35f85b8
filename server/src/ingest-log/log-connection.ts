import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type * as Nats from "nats";
import type { JetStreamManager, NatsConnection, ObjectStore, PubAck } from "nats";
import { messageOf, RequestError, ServerError } from "../model/errors.ts";
import { errorCodeOf, errorCodes, isLogFull } from "./jetstream-errors.ts";
import { logLimits, logNames } from "./log-limits.ts";
import { LogLink } from "./log-link.ts";
import { LogLinks } from "./log-links.ts";
import { matchBucket, objectStream, prepareStreams, readBytesAndReplicas } from "./log-streams.ts";
import type { LogOptions } from "./log-streams.ts";
import { describeTarget } from "../model/log-target.ts";
import type { LogTarget } from "../model/log-target.ts";

/**
 * The access of one process to the ingest log. Appending uses up to two connections to different NATS servers;
 * everything else uses the first one.
 */
export class LogConnection {
  /** The address without credentials. */
  readonly address: string;
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly objects: ObjectStore;
  /** Number of NATS servers on which each message is stored. */
  readonly replicas: number;
  readonly #nats: typeof Nats;
  readonly #links: LogLinks;
  readonly #maxBytes: number;
  /** The highest position in the log that was acknowledged. */
  #lastSequence = 0;
  #doubtfulAppends = 0;

  private constructor(parts: {
    readonly nats: typeof Nats;
    readonly target: LogTarget;
    readonly link: LogLink;
    readonly manager: JetStreamManager;
    readonly objects: ObjectStore;
    readonly replicas: number;
    readonly maxBytes: number;
  }) {
    this.#nats = parts.nats;
    this.address = describeTarget(parts.target);
    this.connection = parts.link.connection;
    this.manager = parts.manager;
    this.objects = parts.objects;
    this.replicas = parts.replicas;
    this.#maxBytes = parts.maxBytes;
    this.#links = new LogLinks(parts.nats, parts.target, parts.link);
  }

  /**
   * Opens both connections for appending, and creates the log if it does not exist.
   *
   * @throws ServerError the log can't be reached in time, or NATS denies a permission or a setting that is needed.
   */
  static async open(target: LogTarget, options: LogOptions): Promise<LogConnection> {
    try {
      const log = await LogConnection.#open(target, {
        startMs: options.startMs ?? logLimits.startMs,
        prepare: (nats, manager) => prepareStreams(nats, manager, options),
      });
      await log.#links.openSecond();
      return log;
    } catch (cause) {
      if (cause instanceof ServerError && errorCodeOf(cause.cause) === errorCodes.noStorage) {
        throw new ServerError(
          "LOG",
          `Failed to prepare the ingest log at ${describeTarget(target)}: its servers have no space for ${options.maxBytes} bytes of runs, ${options.maxBytes} bytes of large runs, and the dead letters. Raise max_file_store of the NATS servers, or lower --log-max-bytes`,
          { cause },
        );
      }
      throw cause;
    }
  }

  /**
   * Connects to a log that a server has created.
   *
   * @throws ServerError the log can't be reached in time, or no server has created one.
   */
  static async openExisting(target: LogTarget): Promise<LogConnection> {
    try {
      return await LogConnection.#open(target, {
        startMs: logLimits.startMs,
        prepare: (_nats, manager) => readBytesAndReplicas(manager),
      });
    } catch (cause) {
      if (cause instanceof ServerError && errorCodeOf(cause.cause) === errorCodes.noStream) {
        throw new ServerError(
          "LOG",
          `there is no ingest log at ${describeTarget(target)}: a server that is started with --log creates it`,
          { cause },
        );
      }
      throw cause;
    }
  }

  static async #open(
    target: LogTarget,
    {
      startMs,
      prepare,
    }: {
      readonly startMs: number;
      readonly prepare: (
        nats: typeof Nats,
        manager: JetStreamManager,
      ) => Promise<{ readonly replicas: number; readonly maxBytes: number }>;
    },
  ): Promise<LogConnection> {
    const nats = await import("nats");
    const address = describeTarget(target);
    const deadline = Date.now() + startMs;
    // The random order distributes the servers and writers over the NATS servers.
    const servers = shuffle(target.servers);
    const link = await retry(() => LogLink.open(nats, { ...target, servers }), {
      deadline,
      isFinal: (cause) => isRefusal(cause),
      action: `reach the ingest log at ${address}`,
    });
    try {
      const prepared = await retry(
        async () => {
          const manager = await link.connection.jetstreamManager({ timeout: logLimits.callMs });
          const { replicas, maxBytes } = await prepare(nats, manager);
          const objects = await link.openObjects(logNames.bucket, {
            replicas,
            max_bytes: maxBytes,
          });
          await matchBucket(manager, { replicas, maxBytes });
          return { manager, replicas, maxBytes, objects };
        },
        {
          deadline,
          isFinal: (cause) =>
            errorCodeOf(cause) === errorCodes.noStorage ||
            errorCodeOf(cause) === errorCodes.noStream,
          action: `prepare the ingest log at ${address}`,
        },
      );
      return new LogConnection({ nats, target, link, ...prepared });
    } catch (cause) {
      await link.connection.close();
      throw cause;
    }
  }

  get isConnected(): boolean {
    return this.#links.isConnected;
  }

  /** How often a connection was lost and restored. */
  get reconnects(): number {
    return this.#links.reconnects;
  }

  /**
   * Increases whenever the log may have lost messages that it had acknowledged: a connection was lost, a server became
   * leader, or an acknowledgement is doubtful.
   */
  get disturbances(): number {
    return this.#links.disturbances + this.#doubtfulAppends;
  }

  /** The NATS servers to which this process is connected. */
  get serverIds(): ReadonlySet<string> {
    return this.#links.serverIds;
  }

  /** Maximum size of a message, without its headers, in bytes. */
  get messageBytes(): number {
    return (this.connection.info?.max_payload ?? 0) - logLimits.messageReserveBytes;
  }

  /**
   * Appends a message. Resolves with its position in the log when enough servers have stored it. A message that may
   * have been stored is sent again with the same id, by which the log recognizes it.
   *
   * @param signal - ends the attempts, because the message is stored elsewhere
   * @throws RequestError 429: the log is full. 503: it can't be reached.
   */
  async append(message: Uint8Array, signal?: AbortSignal): Promise<number> {
    const lastSequence = this.#lastSequence;
    const { seq, duplicate } = await this.#publish(logNames.subject, message, {
      stream: logNames.stream,
      ...(signal && { signal }),
    });
    // A leader that reports a duplicate may lack the message itself, which an earlier leader stored. A position that
    // was acknowledged already when the message was sent belonged to another message, which the log has lost.
    if (duplicate || seq <= lastSequence) {
      this.#doubtfulAppends += 1;
    }
    if (!duplicate) {
      this.#lastSequence = seq <= lastSequence ? seq : Math.max(seq, this.#lastSequence);
    }
    return seq;
  }

  /**
   * Stores a dead letter: a message whose runs can't be stored in the database.
   *
   * @throws RequestError as {@link append}
   */
  async appendDeadLetter(message: Uint8Array, description: string): Promise<void> {
    const headers = this.#nats.headers();
    headers.set(logNames.deadHeader, description);
    await this.#publish(logNames.deadSubject, message, { stream: logNames.deadStream, headers });
  }

  /**
   * Stores a message that is too large for the log as an object, and returns the name of the object.
   *
   * @throws RequestError as {@link append}
   */
  async putObject(message: Uint8Array, prefix = ""): Promise<string> {
    const name = `${prefix}${randomUUID()}`;
    await this.#untilStored(async () => {
      const link = await this.#links.findAnswering();
      const settings = { replicas: this.replicas, max_bytes: this.#maxBytes };
      const objects = await link.openObjects(logNames.bucket, settings);
      await objects.putBlob({ name }, message);
    });
    return name;
  }

  /** Deletes an object, and the marker that the object store keeps of a deleted one. */
  async deleteObject(name: string): Promise<void> {
    await this.objects.delete(name);
    const base64 = Buffer.from(name).toString("base64url");
    // The object store pads the names in its subjects, which Node's "base64url" does not.
    const padding = "=".repeat((4 - (base64.length % 4)) % 4);
    const filter = `$O.${logNames.bucket}.M.${base64}${padding}`;
    await this.manager.streams.purge(objectStream, { filter });
  }

  /** Creates a unique subject, the address of NATS messages, to which answers for this process are sent. */
  createInbox(): string {
    return this.#nats.createInbox();
  }

  /** Sends what was not sent yet, if the log can be reached, and ends the connection. */
  async close(): Promise<void> {
    if (this.isConnected) {
      const timeout = new AbortController();
      await Promise.race([
        this.connection.flush().catch(() => undefined),
        sleep(logLimits.flushMs, undefined, { signal: timeout.signal }).catch(() => undefined),
      ]);
      timeout.abort();
    }
    await this.#links.close();
    await this.connection.close();
  }

  async #publish(
    subject: string,
    message: Uint8Array,
    {
      stream,
      headers,
      signal,
    }: {
      readonly stream: string;
      readonly headers?: ReturnType<typeof Nats.headers>;
      readonly signal?: AbortSignal;
    },
  ): Promise<PubAck> {
    const msgID = randomUUID();
    return this.#untilStored(
      (timeout) =>
        this.#links.hedge((link) =>
          link.stream.publish(subject, message, {
            msgID,
            timeout,
            expect: { streamName: stream },
            ...(headers && { headers }),
          }),
        ),
      signal,
    );
  }

  async #untilStored<Result>(
    store: (timeoutMs: number) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    const deadline = Date.now() + logLimits.publishMs;
    for (;;) {
      try {
        return await store(logLimits.publishAttemptMs);
      } catch (cause) {
        if (isLogFull(cause)) {
          throw createFullError();
        }
        const isLast =
          Date.now() + logLimits.publishRetryMs >= deadline || signal?.aborted === true;
        if (this.connection.isClosed() || isLast) {
          throw new RequestError(
            503,
            "the ingest log can't be reached, or has no majority of its servers; retry later",
            logLimits.awayRetrySeconds,
          );
        }
        await sleep(logLimits.publishRetryMs);
      }
    }
  }
}

export const createFullError = (): RequestError =>
  new RequestError(
    429,
    "the ingest log is full, because runs arrive faster than they are stored; retry later",
    logLimits.fullRetrySeconds,
  );

/** Whether a NATS server refuses the credentials, or the permissions do not suffice. */
const isRefusal = (cause: unknown): boolean =>
  /authorization|authentication|permissions/i.test(messageOf(cause));

/** Returns the values in a random order. */
const shuffle = <Value>(values: readonly Value[]): readonly Value[] =>
  values
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ value }) => value);

/** Repeats an action until it succeeds, its error is final, or the deadline has passed. */
async function retry<Result>(
  action: () => Promise<Result>,
  {
    deadline,
    isFinal,
    action: name,
  }: {
    readonly deadline: number;
    readonly isFinal: (cause: unknown) => boolean;
    readonly action: string;
  },
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (cause) {
      if (isFinal(cause) || Date.now() + logLimits.awayMs >= deadline) {
        throw new ServerError("LOG", `Failed to ${name}: ${messageOf(cause)}`, { cause });
      }
      await sleep(logLimits.awayMs);
    }
  }
}
