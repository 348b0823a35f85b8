import { toError } from "./failure.ts";
import type { Requester } from "./requester.ts";
import type { Connection } from "../model/options/connection.ts";
import { definedOf } from "../model/fields.ts";

const unlimited = -1;

/** `whole` answers are bounded; a `stream` is not, as it is never held at once. */
export type PoolKind = "whole" | "stream";

interface ConnectionPool {
  readonly requester: Requester;
  close(): Promise<void>;
}

/** The connections of the request half, by what they are for; each opens at its first use. */
export class ConnectionPools {
  readonly #connection: Connection;
  readonly #maxResponseBytes: number;
  readonly #open = new Map<string, Promise<ConnectionPool>>();

  constructor(connection: Connection, maxResponseBytes: number) {
    this.#connection = connection;
    this.#maxResponseBytes = maxResponseBytes;
  }

  /**
   * To the client's own server, or to another, by its base address: that one gets no key.
   *
   * @throws {@link SdkError} nothing can be connected with.
   */
  async requesterFor(server: string | undefined, kind: PoolKind): Promise<Requester> {
    const name = `${kind} ${server ?? ""}`;
    const limit = kind === "whole" ? this.#maxResponseBytes : unlimited;
    const pool = this.#open.get(name) ?? openPool(this.#connectionTo(server), limit);
    this.#open.set(name, pool);
    return (await pool).requester;
  }

  async close(): Promise<void> {
    const pools = await Promise.allSettled(this.#open.values());
    // Of one that never opened there is nothing to give back.
    const opened = pools.flatMap((pool) => (pool.status === "fulfilled" ? [pool.value] : []));
    await Promise.all(opened.map((pool) => pool.close()));
  }

  /** What names or proves who is asking stays with the client's own server; trust and proxies are the machine's. */
  #connectionTo(server: string | undefined): Connection {
    if (server === undefined) {
      return this.#connection;
    }
    if (isSameOrigin(server, this.#connection.endpoint)) {
      return { ...this.#connection, endpoint: server };
    }
    const { timeoutMs, requestsInFlight, compression, ...own } = this.#connection;
    const { httpProxy, httpsProxy, noProxy, ca } = own;
    return {
      endpoint: server,
      timeoutMs,
      requestsInFlight,
      compression,
      ...definedOf({ httpProxy, httpsProxy, noProxy, ca }),
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
