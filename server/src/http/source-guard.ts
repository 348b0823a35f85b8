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
   * machine or from a script of its own. The first shows in Host, the second in Origin, or, for a
   * picture or a frame, only in Sec-Fetch-Site.
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
 * Checks Sec-Fetch-Site, which browsers send with requests without an Origin. Following a link from another site is allowed: to a
 * shared run, or the page of a project. The other site can't read what it opens.
 *
 * @throws RequestError 403: another site requests it, and not as a page that is opened.
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
