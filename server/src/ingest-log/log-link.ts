import type * as Nats from "nats";
import type { JetStreamClient, NatsConnection, ObjectStore } from "nats";
import type { LogTarget } from "../model/log-target.ts";
import { logLimits, logNames } from "./log-limits.ts";
import { objectStream } from "./log-streams.ts";

/**
 * Subjects of the messages by which NATS servers report that they became leader of the stream of the log, of the stream
 * of its objects, or of the consumer, which records what the writers have received.
 */
const electionSubjects = [
  `$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.${logNames.stream}`,
  `$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.${objectStream}`,
  `$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.${logNames.stream}.${logNames.consumer}`,
];

/**
 * A connection to one of the NATS servers of the log. It reconnects by itself to any of them, even if a server stops
 * answering without closing the connection.
 *
 * States: connected <-> disconnected -> closed.
 */
export class LogLink {
  readonly connection: NatsConnection;
  readonly stream: JetStreamClient;
  #objects: Promise<ObjectStore> | undefined;
  #isConnected = true;
  #reconnects = 0;
  #disconnects = 0;
  #elections = 0;

  private constructor(nats: typeof Nats, connection: NatsConnection) {
    this.connection = connection;
    this.stream = connection.jetstream({ timeout: logLimits.callMs });
    // Ends when the connection is closed.
    void this.#watch(nats);
    // If NATS denies the permission to subscribe, this process still notices other disturbances.
    const onElection = (error: unknown): void => {
      this.#elections += error === null ? 1 : 0;
    };
    for (const subject of electionSubjects) {
      connection.subscribe(subject, { callback: onElection });
    }
  }

  /**
   * Connects to the first of the servers that answers.
   *
   * @throws NatsError none of them does, or they refuse the credentials.
   */
  static async open(nats: typeof Nats, { servers, isTls, credentials }: LogTarget) {
    const connection = await nats.connect({
      servers: [...servers],
      noRandomize: true,
      name: "millrace",
      timeout: logLimits.connectMs,
      pingInterval: logLimits.pingMs,
      maxPingOut: logLimits.pings,
      // A server that comes back after hours is used again.
      maxReconnectAttempts: -1,
      reconnectTimeWait: logLimits.awayMs,
      ...(isTls && { tls: {} }),
      ...(credentials.kind === "password" && {
        user: credentials.user,
        pass: credentials.password,
      }),
      ...(credentials.kind === "token" && { token: credentials.token }),
    });
    return new LogLink(nats, connection);
  }

  get isConnected(): boolean {
    return this.#isConnected && !this.connection.isClosed();
  }

  /** How often the connection was lost and restored. */
  get reconnects(): number {
    return this.#reconnects;
  }

  /** How often the connection was lost, or a server became leader of the log. */
  get disturbances(): number {
    return this.#disconnects + this.#elections;
  }

  /** The NATS server at the other end; `undefined` while there is none. */
  get serverId(): string | undefined {
    return this.isConnected ? this.connection.info?.server_id : undefined;
  }

  /**
   * The number of servers that the connection may use: as many as were configured or, if more, as NATS has announced.
   */
  countServers(target: LogTarget): number {
    return Math.max(target.servers.length, this.connection.info?.connect_urls?.length ?? 0);
  }

  /**
   * Opens the bucket of the object store that contains the runs that are too large for a message. A bucket that does
   * not exist is created with the given settings.
   */
  openObjects(
    bucket: string,
    settings: { readonly replicas: number; readonly max_bytes: number },
  ): Promise<ObjectStore> {
    this.#objects ??= this.stream.views.os(bucket, settings).catch((cause: unknown) => {
      this.#objects = undefined;
      throw cause;
    });
    return this.#objects;
  }

  async #watch({ Events }: typeof Nats): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === Events.Disconnect) {
        this.#isConnected = false;
        this.#disconnects += 1;
      }
      if (type === Events.Reconnect) {
        this.#isConnected = true;
        this.#reconnects += 1;
      }
    }
  }
}
