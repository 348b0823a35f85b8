import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { RequestError } from "../model/errors.ts";
import type { PublicUrl } from "../model/network-options.ts";

/** The header with the token that the server prints to the console when it starts. */
const tokenHeader = "x-model-token";

/** Decides which requests may call models, in addition to the guards that all requests pass. */
export class ModelAccess {
  readonly #tokenDigest: Buffer;
  readonly #isKeyRequired: () => Promise<boolean>;
  readonly #publicUrl: PublicUrl | undefined;

  /** @param isKeyRequired - whether requests need an API key; a token is then not needed */
  constructor(token: string, isKeyRequired: () => Promise<boolean>, publicUrl?: PublicUrl) {
    this.#tokenDigest = computeDigest(token);
    this.#isKeyRequired = isKeyRequired;
    this.#publicUrl = publicUrl;
  }

  /**
   * Checks that a page of this server's UI sent a request, and that its user may call models.
   *
   * @throws RequestError 403: the request comes from elsewhere, or it needs a token and has no valid one.
   */
  async check(headers: IncomingHttpHeaders): Promise<void> {
    checkOrigin(headers, this.#publicUrl);
    if (await this.needsToken(headers)) {
      throw new RequestError(
        403,
        "the token of the playground is missing or wrong: enter the one that the server printed when it started",
      );
    }
  }

  /** Whether a request needs a token and does not have the right one. */
  async needsToken(headers: IncomingHttpHeaders): Promise<boolean> {
    if (await this.#isKeyRequired()) {
      return false;
    }
    const token = headers[tokenHeader];
    return typeof token !== "string" || !timingSafeEqual(computeDigest(token), this.#tokenDigest);
  }
}

const computeDigest = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Checks that a page of this server itself sent the request. Other endpoints accept requests from any page on this
 * machine, but a model call costs money. The check does not stop programs, which can set any header; the token
 * does.
 */
function checkOrigin(
  { origin, host, ...headers }: IncomingHttpHeaders,
  publicUrl: PublicUrl | undefined,
): void {
  const site = headers["sec-fetch-site"];
  const isOwn =
    origin !== undefined &&
    URL.canParse(origin) &&
    // A proxy may set the Host header to an address of its own, but it does not change the Origin.
    (origin === publicUrl?.origin || new URL(origin).host === host);
  if (!isOwn || (site !== undefined && site !== "same-origin")) {
    throw new RequestError(
      403,
      "only the UI of this server may call models: the header Origin must be that of this server",
    );
  }
}
