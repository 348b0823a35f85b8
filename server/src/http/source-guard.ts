import type { IncomingHttpHeaders } from "node:http";
import { RequestError } from "../model/errors.ts";
import type { PublicUrl } from "../model/network-options.ts";
import { isLoopback, toHostName } from "../model/options.ts";
import type { ServerSettings } from "../model/options.ts";

/** Rejects requests that another site makes a browser send. */
export class SourceGuard {
  readonly #isLocal: boolean;
  readonly #host: string;

  readonly #publicUrl: PublicUrl | undefined;

  constructor({
    host,
    publicUrl,
  }: Pick<ServerSettings, "host"> & Partial<Pick<ServerSettings, "publicUrl">>) {
    this.#publicUrl = publicUrl;
    this.#host = host.toLowerCase();
    this.#isLocal = isLoopback(host);
  }

  /**
   * Checks the headers of a request. If a page of another site sends requests to a host name that resolves to this
   * machine, the Host header contains that name. If a script of the page sends a request, the Origin header contains
   * the page's site. If the page embeds an image or a frame, only Sec-Fetch-Site reveals the other site.
   *
   * @throws RequestError 403: the request comes from another site.
   */
  checkSource({ host, origin, ...headers }: IncomingHttpHeaders): void {
    const isPublicHost = host !== undefined && host.toLowerCase() === this.#publicUrl?.host;
    if (this.#isLocal && !isPublicHost && !this.#isOwnName(toHostName(host ?? ""))) {
      const names = ["localhost", "127.0.0.1", ...(this.#publicUrl ? [this.#publicUrl.host] : [])];
      throw new RequestError(
        403,
        `Host ${JSON.stringify(host ?? "")} is not a name of this server; use ${names.join(" or ")}`,
      );
    }
    if (origin === undefined) {
      checkSite(headers);
      return;
    }
    // A proxy may set the Host header to an address of its own, but it does not change the Origin.
    if (origin === this.#publicUrl?.origin) {
      return;
    }
    const source = readHost(origin);
    const isSameHost = source !== undefined && source === host?.toLowerCase();
    if (
      isPublicHost ||
      (!isSameHost &&
        !(this.#isLocal && source !== undefined && this.#isOwnName(toHostName(source))))
    ) {
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
 * Checks Sec-Fetch-Site, which browsers send with requests that have no Origin header. A page of another site may link
 * to a page of this server, for example to a shared run or to a project, because it can't read the page that is opened.
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

/** Returns the host name and port of an origin. As in Host, the default port of the scheme is left out. */
function readHost(origin: string): string | undefined {
  return URL.canParse(origin) && /^https?:/i.test(origin) ? new URL(origin).host : undefined;
}
