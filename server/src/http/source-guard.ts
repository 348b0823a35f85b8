import type { IncomingHttpHeaders } from "node:http";
import { RequestError } from "../model/errors.ts";
import { isLoopback } from "../model/options.ts";
import type { ServerSettings } from "../model/options.ts";

/** Decides from the headers of a request whether it may come from another site. */
export class SourceGuard {
  readonly #isLocal: boolean;
  readonly #host: string;

  constructor({ host }: Pick<ServerSettings, "host">) {
    this.#host = host.toLowerCase();
    this.#isLocal = isLoopback(host);
  }

  /**
   * Rejects requests that a page of another site makes a browser send. If the page uses a host name of its own that
   * resolves to this machine, Host contains that name. If it uses a script, Origin contains its site; for an image or a
   * frame, only Sec-Fetch-Site reveals the other site.
   *
   * @throws RequestError 403: the request comes from another site.
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
 * Checks Sec-Fetch-Site, which browsers send with requests without an Origin. Opening a link on another site is
 * allowed, for example to a shared run or to a project: the other site can't read the page that it opens.
 *
 * @throws RequestError 403: the request comes from another site, and does not open a link.
 */
function checkSite(headers: IncomingHttpHeaders): void {
  const isLinkOpened =
    headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  if (headers["sec-fetch-site"] === "cross-site" && !isLinkOpened) {
    throw new RequestError(
      403,
      "Sec-Fetch-Site shows that another site sent this request; only pages of this server and of this machine may send it, or a link that opens a page",
    );
  }
}

/** `name:port` of an origin. As in Host, the default port of the scheme is left out. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) && /^https?:/i.test(origin) ? new URL(origin).host : undefined;
}

const nameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{0,5}$/, "")
    .replace(/^\[(.*)\]$/, "$1");
