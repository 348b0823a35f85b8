import type { FastifyInstance, FastifyReply, RouteOptions } from "fastify";
import type { PublicUrl } from "../model/network-options.ts";
import { readDocsFile } from "./api-docs-page.ts";

/** Path of the page that shows the API documentation. */
const pagePath = "/docs";

/**
 * Content security policy of the page: allows only files of this server. The page shows no stored data, so inline
 * styles are safe.
 */
const pagePolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/**
 * Adds the API description: OpenAPI 3.1 at `/openapi.json`, generated from the schemas of the routes when it is first
 * requested, and a page that shows it. Must be called before the routes are added.
 */
export function addApiDocs(app: FastifyInstance, publicUrl: PublicUrl | undefined): void {
  const basePath = publicUrl?.basePath ?? "";
  const routes: RouteOptions[] = [];
  app.addHook("onRoute", (route) => {
    routes.push(route);
  });
  let description: Promise<object> | undefined;
  const readDescription = (): Promise<object> => (description ??= describe(routes, publicUrl));
  app.register(async (docsScope: FastifyInstance) => {
    docsScope.get("/openapi.json", readDescription);
    docsScope.get(`${pagePath}/json`, { schema: { hide: true } }, readDescription);
    docsScope.get(pagePath, { schema: { hide: true } }, (_request, reply) =>
      sendFile("", basePath, reply),
    );
    docsScope.get<{ readonly Params: { readonly "*": string } }>(
      `${pagePath}/*`,
      { schema: { hide: true } },
      ({ params }, reply) => sendFile(params["*"], basePath, reply),
    );
  });
}

/**
 * Describes the routes. The generator is loaded only now, because most servers are never asked for their description.
 */
async function describe(
  routes: readonly RouteOptions[],
  publicUrl: PublicUrl | undefined,
): Promise<object> {
  const { describeApi } = await import("./api-description.ts");
  return describeApi(routes, publicUrl);
}

async function sendFile(
  path: string,
  basePath: string,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const file = await readDocsFile(path, basePath);
  if (file === undefined) {
    reply.callNotFound();
    return reply;
  }
  return reply.header("content-security-policy", pagePolicy).type(file.type).send(file.body);
}
