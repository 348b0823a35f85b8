import { readFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { Client, types } from "pg";
import type { CustomTypesConfig } from "pg";
import { messageOf, ServerError } from "../../model/errors.ts";
import { encodeLists } from "./binary-lists.ts";
import type { PostgresClient, PostgresRows, PostgresStatement } from "./postgres-client.ts";
import { ConnectionLostError, codeOf, isConnectionLost } from "./postgres-errors.ts";
import { describeHost, describeTarget } from "../../model/store-url.ts";
import type { PostgresHost, PostgresTarget } from "../../model/store-url.ts";

/** Limits of a connection, in milliseconds. */
const connectionLimits = {
  /** Time for connecting to one host. */
  connectMs: 5_000,
  /**
   * Time to wait for a response beyond the database's own time limit for the statement. Then the connection is closed,
   * because the other side may have vanished without closing it.
   */
  graceMs: 10_000,
  /** Time for sending a request to cancel a statement. */
  cancelMs: 2_000,
  /** Time for ending a connection cleanly. */
  endMs: 2_000,
} as const;

/** Options of a connection to PostgreSQL. */
export interface ConnectOptions {
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** The longest that a statement may take, in milliseconds. */
  readonly statementMs: number;
}

/**
 * Types of numbers that the driver returns as text, because they may exceed the range of a JavaScript number. The
 * server stores no numbers that large, so they are converted to JavaScript numbers.
 */
const numberTypes: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

const parsers: CustomTypesConfig = {
  getTypeParser: (id, format) =>
    numberTypes.has(id) && format !== "binary"
      ? Number
      : (types.getTypeParser(id, format) as (text: string) => unknown),
};

/**
 * One connection to PostgreSQL. After an error that affects more than one statement, the connection is closed: {@link
 * PostgresConnection.isUsable} is then false.
 */
export class PostgresConnection implements PostgresClient {
  readonly #client: Client;
  readonly #host: PostgresHost;
  #failure: string | undefined;
  #onNotification: ((channel: string, payload: string) => void) | undefined;
  #onLost: (() => void) | undefined;

  private constructor(client: Client, host: PostgresHost) {
    this.#client = client;
    this.#host = host;
    // Without a listener, an error of an idle connection would end the process.
    client.on("error", (cause) => this.#markLost(messageOf(cause)));
    client.on("end", () => this.#markLost("the connection was closed"));
    client.on("notification", ({ channel, payload }) =>
      this.#onNotification?.(channel, payload ?? ""),
    );
  }

  /**
   * Connects to the first host that accepts writes.
   *
   * @throws ConnectionLostError none of the hosts can be reached, or all of them are standbys. The message contains the
   * hosts, the database and the reasons, but no password.
   * @throws ServerError the login is refused, or the database does not exist: trying again will not help.
   */
  static async connect(
    target: PostgresTarget,
    options: ConnectOptions,
  ): Promise<PostgresConnection> {
    const reasons: string[] = [];
    for (const host of target.hosts) {
      try {
        const connection = await PostgresConnection.#connectTo(host, target, options);
        if (connection !== undefined) {
          return connection;
        }
        reasons.push(`${describeHost(host)}: it is a standby, which accepts no writes`);
      } catch (cause) {
        const reason = removePassword(messageOf(cause), target);
        if (refusalCodes.test(codeOf(cause))) {
          throw new ServerError(
            "STORE",
            `PostgreSQL at ${describeHost(host)}/${target.database} refused the connection: ${reason}`,
          );
        }
        reasons.push(`${describeHost(host)}: ${reason === "" ? codeOf(cause) : reason}`);
      }
    }
    throw new ConnectionLostError(
      `PostgreSQL at ${describeTarget(target)} can't be reached (${reasons.join("; ")})`,
    );
  }

  static async #connectTo(
    host: PostgresHost,
    target: PostgresTarget,
    { applicationName, statementMs }: ConnectOptions,
  ): Promise<PostgresConnection | undefined> {
    const client = new Client({
      host: host.host,
      port: host.port,
      database: target.database,
      ...(target.user !== undefined && { user: target.user }),
      ...(target.password !== undefined && { password: target.password }),
      ssl: toSslOptions(target),
      application_name: applicationName,
      connectionTimeoutMillis: connectionLimits.connectMs,
      query_timeout: statementMs + connectionLimits.graceMs,
      keepAlive: true,
      types: parsers,
    });
    const connection = new PostgresConnection(client, host);
    try {
      await client.connect();
      const { rows } = await client.query<{ standby: boolean }>(
        "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS standby",
      );
      if (rows[0]?.standby === false) {
        await client.query(serverSettings);
        return connection;
      }
    } catch (cause) {
      await connection.close();
      throw cause;
    }
    await connection.close();
    return undefined;
  }

  get isUsable(): boolean {
    return this.#failure === undefined;
  }

  async run({ text, values, name }: PostgresStatement): Promise<PostgresRows> {
    const { rows, rowCount } = await this.#guard(() =>
      this.#client.query<Readonly<Record<string, unknown>>>({
        text,
        values: encodeLists(text, values),
        ...(name !== undefined && { name }),
      }),
    );
    return { rows, count: rowCount ?? 0 };
  }

  async exec(sql: string): Promise<void> {
    await this.#guard(() => this.#client.query(sql));
  }

  /** Sets the listeners of a connection that waits for notifications. */
  onNotification(
    onNotification: (channel: string, payload: string) => void,
    onLost: () => void,
  ): void {
    this.#onNotification = onNotification;
    this.#onLost = onLost;
  }

  /** Asks the database to cancel the running statement, which then fails. Does not report a failure. */
  cancel(): void {
    const { processID, secretKey } = this.#client as { processID?: unknown; secretKey?: unknown };
    if (typeof processID !== "number" || typeof secretKey !== "number") {
      return;
    }
    const request = Buffer.alloc(16);
    request.writeInt32BE(16, 0);
    request.writeInt32BE(cancelRequestCode, 4);
    request.writeInt32BE(processID, 8);
    request.writeInt32BE(secretKey, 12);
    const socket = connectSocket({ ...this.#host, timeout: connectionLimits.cancelMs });
    socket.once("connect", () => socket.end(request));
    socket.once("timeout", () => socket.destroy());
    // If the request does not arrive, the statement ends at its own time limit.
    socket.once("error", () => socket.destroy());
    socket.unref();
  }

  /** Ends the connection, cleanly if the database answers in time. */
  async close(): Promise<void> {
    this.#onLost = undefined;
    this.#failure ??= "the connection was closed";
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, connectionLimits.endMs);
    });
    await Promise.race([this.#client.end().catch(() => undefined), timedOut]);
    clearTimeout(timer);
  }

  async #guard<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#failure !== undefined) {
      throw new ConnectionLostError(this.#failure);
    }
    try {
      return await run();
    } catch (cause) {
      if (isConnectionLost(cause)) {
        this.#markLost(messageOf(cause));
        throw new ConnectionLostError(messageOf(cause), { cause });
      }
      throw cause;
    }
  }

  #markLost(reason: string): void {
    if (this.#failure === undefined) {
      this.#failure = reason;
      const onLost = this.#onLost;
      void this.close();
      onLost?.();
    }
  }
}

/**
 * If the machine of a server fails, its connections are not closed. With these settings, PostgreSQL detects that within
 * half a minute and releases the server's locks; by default, that takes two hours.
 *
 * Queries are not compiled to machine code: the estimates of filters over JSON are often far too high, and compiling
 * such a query takes longer than running it.
 */
const serverSettings =
  "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET jit = off; SET max_parallel_workers_per_gather = 0";

/** The code of PostgreSQL's protocol for the request to cancel a statement. */
const cancelRequestCode = 80_877_102;

/** Codes of errors: the login is refused, the database or the user does not exist, or a permission is missing. */
const refusalCodes = /^(?:28...|3D000|42501)$/;

function toSslOptions({ sslMode, sslRootCertificate }: PostgresTarget): ConnectionOptions | false {
  if (sslMode === "disable") {
    return false;
  }
  return sslMode === "require"
    ? { rejectUnauthorized: false }
    : {
        rejectUnauthorized: true,
        ...(sslRootCertificate !== undefined && { ca: readFileSync(sslRootCertificate, "utf8") }),
      };
}

const removePassword = (text: string, { password }: PostgresTarget): string =>
  password === undefined || password === "" ? text : text.replaceAll(password, "***");
