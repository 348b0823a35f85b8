import { toError } from "./failure.ts";
import type { Requester } from "./requester.ts";
import type { Connection } from "../model/options/connection.ts";
import { omitUndefined } from "../model/fields.ts";

/**
 * How responses are read. A response that is read as a whole has a size limit. A streamed response has none, because it
 * is never in memory as a whole.
 */
export type PoolKind = "whole" | "stream";

/** An open connection pool and the requester that uses it. */
interface ConnectionPool {
  readonly requester: Requester;
  close(): Promise<void>;
}

/**
 * The connection pools of API calls, one for each server and kind of response. A pool opens at its
 * first use.
 */
export class ConnectionPools {
  readonly #connection: Connection;
  readonly #maxResponseBytes: number;
  readonly #pools = new Map<string, Promise<ConnectionPool>>();

  constructor(connection: Connection, maxResponseBytes: number) {
    this.#connection = connection;
    this.#maxResponseBytes = maxResponseBytes;
  }

  /**
   * Returns the requester for the client's own server, or for another server, given by its base URL. Other servers do
   * not get the API key.
   *
   * @throws {@link SdkError} if the connection can't be set up.
   */
  async getRequester(server: string | undefined, kind: PoolKind): Promise<Requester> {
    const name = `${kind} ${server ?? ""}`;
    const limit = kind === "whole" ? this.#maxResponseBytes : Number.POSITIVE_INFINITY;
    const pool = this.#pools.get(name) ?? openPool(this.#createConnection(server), limit);
    this.#pools.set(name, pool);
    return (await pool).requester;
  }

  async close(): Promise<void> {
    const pools = await Promise.allSettled(this.#pools.values());
    // A pool that could not be opened has nothing to close.
    const opened = pools.flatMap((pool) => (pool.status === "fulfilled" ? [pool.value] : []));
    await Promise.all(opened.map((pool) => pool.close()));
  }

  /**
   * Returns the settings for a server. Credentials are sent only to the client's own server. Trusted authorities and
   * proxies apply to all servers.
   */
  #createConnection(server: string | undefined): Connection {
    if (server === undefined) {
      return this.#connection;
    }
    if (isSameOrigin(server, this.#connection.endpoint)) {
      return { ...this.#connection, endpoint: server };
    }
    const { timeoutMs, requestsInFlight, compression, ...otherSettings } = this.#connection;
    const { httpProxy, httpsProxy, noProxy, ca } = otherSettings;
    // Each scheme has its own proxy.
    const hasSameProxy = new URL(server).protocol === new URL(this.#connection.endpoint).protocol;
    const proxySource = hasSameProxy ? otherSettings.proxySource : undefined;
    return {
      endpoint: server,
      timeoutMs,
      requestsInFlight,
      compression,
      ...omitUndefined({ httpProxy, httpsProxy, noProxy, proxySource, ca }),
    };
  }
}

const isSameOrigin = (left: string, right: string): boolean =>
  new URL(left).origin === new URL(right).origin;

async function openPool(connection: Connection, limitBytes: number): Promise<ConnectionPool> {
  try {
    const [{ createDispatcher }, { Requester }] = await Promise.all([
      import("./dispatcher.ts"),
      import("./requester.ts"),
    ]);
    const dispatcher = createDispatcher(connection, limitBytes);
    return {
      requester: new Requester(connection, dispatcher),
      close: () => dispatcher.destroy(),
    };
  } catch (failure) {
    throw toError("connect", failure);
  }
}
