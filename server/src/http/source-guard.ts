import type { IncomingHttpHeaders } from "node:http";
import { RequestError } from "../model/errors.ts";
import { isLoopback } from "../model/options.ts";
import type { ServerSettings } from "../model/options.ts";

/** Decides which requests are let in, by their headers alone. */
export class SourceGuard {
  readonly #isLocal: boolean;
  readonly #host: string;

  constructor({ host }: Pick<ServerSettings, "host">) {
    this.#host = host.toLowerCase();
    this.#isLocal = isLoopback(host);
  }

  /**
   * A page on any site can make a browser send requests here, under a name that resolves to this
   * machine or from a script of its own. The first shows in Host, the second in Origin, or, where a
   * picture or a frame is asked for, in Sec-Fetch-Site alone.
   *
   * @throws RequestError 403: the request comes from elsewhere.
   */
  checkSource({ host, origin, ...headers }: IncomingHttpHeaders): void {
    if (this.#isLocal && !this.#isOwnName(nameOf(host ?? ""))) {
      throw new RequestError(
        403,
        `Host ${JSON.stringify(host ?? "")} is not a name of this server; use localhost or 127.0.0.1`,
      );
    }
    if (origin === undefined) {
      checkSite(headers);
      return;
    }
    const source = hostOf(origin);
    const isSame = source !== undefined && source === host?.toLowerCase();
    if (!isSame && !(this.#isLocal && source !== undefined && this.#isOwnName(nameOf(source)))) {
      throw new RequestError(
        403,
        `Origin ${JSON.stringify(origin)} is another site; only pages of this server and of this machine may call it`,
      );
    }
  }

  #isOwnName(name: string): boolean {
    return name === this.#host || isLoopback(name);
  }
}

/**
 * Browsers say where a request comes from that has no Origin. A link that a person follows from another
 * site is let in: a shared run, the page of a project. What it opens that site can't read.
 *
 * @throws RequestError 403: another site asks for it, and not as a page of its own.
 */
function checkSite(headers: IncomingHttpHeaders): void {
  const isFollowed =
    headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  if (headers["sec-fetch-site"] === "cross-site" && !isFollowed) {
    throw new RequestError(
      403,
      "Sec-Fetch-Site says that another site asks for this; only pages of this server and of this machine may, and a link that is opened as a page",
    );
  }
}

/** `name:port` of an origin; the port is left out where it is the scheme's own, as in Host. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) && /^https?:/i.test(origin) ? new URL(origin).host : undefined;
}

const nameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{0,5}$/, "")
    .replace(/^\[(.*)\]$/, "$1");
