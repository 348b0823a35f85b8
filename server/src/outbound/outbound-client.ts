import { setMaxListeners } from "node:events";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";
import type { Client, Dispatcher } from "undici";
import { CallCounter } from "./call-counter.ts";
import { createNameLookup } from "./name-lookup.ts";
import type { NameLookup } from "./name-lookup.ts";
import { OutboundError, toOutboundError } from "./outbound-error.ts";
import { defaultOutboundLimits, outboundCalls, outboundHeaderBytes } from "./outbound-limits.ts";
import type { OutboundLimits } from "./outbound-limits.ts";
import { OutboundResponse } from "./outbound-response.ts";
import { literalOf, TargetRules } from "./target-rules.ts";
import type { AllowedHost } from "./target-rules.ts";

export interface OutboundClientOptions {
  /** The hosts that the operator lists: these may be private and may use http. */
  readonly allowedHosts: readonly AllowedHost[];
  /** The flag with which the operator lists hosts, such as `--webhook-host`. Errors name it. */
  readonly flag: string;
  /** How names are resolved. @defaultValue as the machine does */
  readonly lookup?: NameLookup;
  /** Certificates, in PEM, of the authorities that are trusted. @defaultValue those of Node */
  readonly ca?: string;
}

/** One call to another host. */
export interface OutboundRequest {
  /** The tenant on whose behalf the call is made. The number of calls at the same time is limited for each tenant. */
  readonly tenantId: string;
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Limits that differ from {@link defaultOutboundLimits}. */
  readonly limits?: Partial<OutboundLimits>;
  readonly signal?: AbortSignal;
}

/**
 * Calls addresses that a user or the operator entered. A host name is resolved once, each of its addresses is checked,
 * and the connection is made to one of these addresses, even if the name resolves to another address meanwhile.
 * Redirects are not followed, and proxies from the environment are not used: both would connect to another address than
 * the checked one. Failed calls are not repeated.
 *
 * Each call has a connection of its own, which ends with it.
 */
export class OutboundClient {
  readonly #rules: TargetRules;
  readonly #lookup: NameLookup;
  readonly #ca: string | undefined;
  readonly #calls = new CallCounter(outboundCalls);
  readonly #closing = new AbortController();

  constructor({ allowedHosts, flag, lookup = createNameLookup(), ca }: OutboundClientOptions) {
    this.#rules = new TargetRules(allowedHosts, flag);
    this.#lookup = lookup;
    this.#ca = ca;
    // Each running call adds a listener. Their number is limited elsewhere, so Node need not warn of many listeners.
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * Checks whether a target may be called, so that a forbidden one is refused when a user enters it. A name that can't
   * be resolved at the moment is accepted, because each call repeats the check.
   *
   * @throws OutboundError the target may not be called; the message says what is allowed.
   */
  async checkTarget(text: string): Promise<URL> {
    const url = this.#rules.parseTarget(text);
    try {
      await this.#resolve(url, AbortSignal.timeout(defaultOutboundLimits.connectMs));
    } catch (cause) {
      if (cause instanceof OutboundError && cause.code === "ADDRESS") {
        throw cause;
      }
      // The name has no address now. Each call resolves it again and reports this failure.
    }
    return url;
  }

  /**
   * Makes a call and returns its response when the headers have arrived, whatever its status is. The caller reads the
   * body, or cancels the response.
   *
   * @throws OutboundError the target may not be called, could not be reached, exceeded a limit or redirects.
   */
  async request(request: OutboundRequest): Promise<OutboundResponse> {
    const url = this.#rules.parseTarget(request.url);
    const release = this.#calls.start(request.tenantId);
    const deadline = new CallDeadline(request.signal, this.#closing.signal);
    const limits = { ...defaultOutboundLimits, ...request.limits };
    let client: Client | undefined;
    const end = (): void => {
      deadline.end();
      release();
      void client?.destroy();
    };
    // This also ends a call whose response nobody reads.
    deadline.signal.addEventListener("abort", end, { once: true });
    deadline.start(limits.totalMs, url.origin);
    try {
      const addresses = await this.#resolveInTime(url, limits.connectMs, deadline.signal);
      client = await this.#createClient(url, addresses, limits);
      const response = await client.request({
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: { ...request.headers },
        body: request.body ?? null,
        signal: deadline.signal,
      });
      assertNoRedirect(response, url);
      return new OutboundResponse(response, {
        origin: url.origin,
        limitBytes: limits.responseBytes,
        end,
      });
    } catch (cause) {
      end();
      throw toOutboundError(deadline.signal.aborted ? deadline.signal.reason : cause, url.origin);
    }
  }

  /** Cancels the calls that are running, and refuses others. */
  close(): void {
    this.#closing.abort();
  }

  async #resolveInTime(
    url: URL,
    connectMs: number,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const timeout = AbortSignal.timeout(connectMs);
    try {
      return await this.#resolve(url, AbortSignal.any([signal, timeout]));
    } catch (cause) {
      throw timeout.aborted && !signal.aborted
        ? new OutboundError(
            "TIMEOUT",
            `Failed to call ${url.origin}: its name was not resolved in time`,
          )
        : cause;
    }
  }

  /** Resolves the name of a target and checks all of its addresses. */
  async #resolve(url: URL, signal: AbortSignal): Promise<readonly string[]> {
    const literal = literalOf(url);
    const addresses =
      literal === undefined ? await rejectOnAbort(this.#lookup(url.hostname), signal) : [literal];
    if (addresses.length === 0) {
      throw new OutboundError(
        "NAME",
        `Failed to call ${url.origin}: the name of the host has no address`,
      );
    }
    this.#rules.assertAllowed(url, addresses);
    return addresses;
  }

  async #createClient(
    url: URL,
    addresses: readonly string[],
    limits: OutboundLimits,
  ): Promise<Client> {
    // Loaded at the first call, because most servers make none, and loading it would delay each start.
    const undici = await import("undici");
    const connect = undici.buildConnector({
      timeout: limits.connectMs,
      maxCachedSessions: 0,
      allowH2: false,
      lookup: createFixedLookup(addresses),
      autoSelectFamily: true,
      ...(this.#ca !== undefined && { ca: this.#ca }),
    });
    return new undici.Client(url.origin, {
      connect: (options, callback) => {
        connect(options, (...result) => {
          const [error, socket] = result;
          // The addresses were checked before. The connected one is checked too, in case the runtime chose another.
          if (error === null && !isOneOf(addresses, socket.remoteAddress)) {
            socket.destroy();
            callback(
              new OutboundError(
                "ADDRESS",
                `Failed to call ${url.origin}: the connection leads to an address that was not checked`,
              ),
              null,
            );
            return;
          }
          callback(...result);
        });
      },
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.idleMs,
      maxHeaderSize: outboundHeaderBytes,
      pipelining: 1,
    });
  }
}

/** Aborts a call when its time is over, its caller cancels it or the server closes. */
class CallDeadline {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];
  #timer: NodeJS.Timeout | undefined;

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.flatMap((signal) => signal ?? []);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(totalMs: number, origin: string): void {
    this.#timer = setTimeout(() => {
      this.#controller.abort(
        new OutboundError(
          "TIMEOUT",
          `Failed to call ${origin}: the call took longer than ${totalMs} ms`,
        ),
      );
    }, totalMs);
    for (const signal of this.#signals) {
      signal.addEventListener("abort", this.#cancel);
    }
    if (this.#signals.some((signal) => signal.aborted)) {
      this.#cancel();
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) {
      signal.removeEventListener("abort", this.#cancel);
    }
  }

  readonly #cancel = (): void => {
    this.#controller.abort(new OutboundError("CANCELED", "The call was canceled"));
  };
}

const assertNoRedirect = (
  { statusCode, headers }: Dispatcher.ResponseData<unknown>,
  url: URL,
): void => {
  if (statusCode < 300 || statusCode > 399) {
    return;
  }
  const location = [headers["location"]].flat()[0] ?? "";
  // Only the origin, because the rest may contain credentials.
  const target = URL.canParse(location, url.href) ? new URL(location, url.href).origin : undefined;
  throw new OutboundError(
    "REDIRECT",
    `Failed to call ${url.origin}: it redirects (${statusCode})${target === undefined ? "" : ` to ${target}`}. Redirects are not followed; use the final address.`,
    statusCode,
  );
};

/** Creates a lookup that returns the addresses that were checked, whatever the name resolves to now. */
const createFixedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, options, callback) => {
    const checkedAddresses = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) {
      callback(null, checkedAddresses);
    } else {
      callback(null, checkedAddresses[0]?.address ?? "", checkedAddresses[0]?.family);
    }
  };

const isOneOf = (addresses: readonly string[], address: string | undefined): boolean =>
  address !== undefined &&
  addresses.some((checked) => checked === address || `::ffff:${checked}` === address);

/** Waits for a promise until a signal is aborted. A later result of the promise is ignored. */
const rejectOnAbort = <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      const reason: unknown = signal.reason;
      reject(
        reason instanceof Error ? reason : new OutboundError("CANCELED", "The call was canceled"),
      );
    };
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) {
      onAbort();
    }
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", onAbort);
    });
  });
