import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import type { PublicUrl } from "../model/network-options.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The URL with which links to this server begin, without a trailing slash. */
    readonly baseUrl: string;
  }
}

/**
 * Adds the property `baseUrl` to requests: the public URL of the server or, if it has none, the address to which the
 * request was sent. Links to the server begin with this URL.
 */
export function addBaseUrl(app: FastifyInstance, publicUrl: PublicUrl | undefined): void {
  app.decorateRequest("baseUrl", {
    getter() {
      return publicUrl?.url ?? `${this.protocol}://${this.host}`;
    },
  });
}

/**
 * Creates the function that maps the URL of a request to a path of the API. It removes the base path, which a proxy may
 * pass on or remove, and the prefix `/api/v1`, because clients use the paths with and without it. A client whose base
 * URL ends with `/api/v1` requests `/v1/platform/...` as `/api/v1/platform/...`, so `/v1` is added there.
 */
export function createUrlRewriter(
  publicUrl: PublicUrl | undefined,
): (request: Pick<IncomingMessage, "url">) => string {
  const basePath = publicUrl?.basePath ?? "";
  const basePattern = new RegExp(`^/*${basePath.replaceAll(".", "\\.")}(?=[/?]|$)`);
  return ({ url = "/" }) => {
    const ownUrl = basePath === "" ? url : url.replace(basePattern, "");
    const path = ownUrl
      .replace(/^\/+api\/+v1(?=[/?]|$)/, "")
      .replace(/^\/+platform\//, "/v1/platform/");
    return path.startsWith("/") ? path : `/${path}`;
  };
}
