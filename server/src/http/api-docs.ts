import swagger from "@fastify/swagger";
import type { StaticDocumentSpec } from "@fastify/swagger";
import fastify from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { apiVersion } from "../options.ts";
import { tags } from "./route.ts";

/** Where the page is that shows the calls to a person. */
const pagePath = "/docs";

/** Files of this server alone. Nothing that a caller stored is shown, so that styles may be inline. */
const pagePolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/**
 * Describes the calls: OpenAPI 3.1 at `/openapi.json`, made of the routes' own schemas, and a page over
 * it. Comes before the routes are added.
 */
export function addApiDocs(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Millrace local server",
        version: apiVersion,
        description: "Every path is there with and without `/api/v1` before it.",
      },
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          key: { type: "apiKey", in: "header", name: "x-api-key" },
          bearer: { type: "http", scheme: "bearer" },
        },
      },
      // Without any key on the server none is needed; an empty one stands for that.
      security: [{ key: [] }, { bearer: [] }, {}],
    },
    hideUntagged: true,
  });
  app.register(async (open: FastifyInstance) => {
    open.get("/openapi.json", async () => open.swagger());
    let page: Promise<FastifyInstance> | undefined;
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      passOn(await (page ??= makePage(open)), request, reply);
    open.get(pagePath, { schema: { hide: true } }, answer);
    open.get(`${pagePath}/*`, { schema: { hide: true } }, answer);
  });
}

/**
 * The page, a small server within this one. Made when it is first asked for: to load what it is made of
 * takes a sixth of what a server takes to start, and most are never asked.
 */
async function makePage(described: FastifyInstance): Promise<FastifyInstance> {
  const { default: swaggerUi } = await import("@fastify/swagger-ui");
  const page = fastify({
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
  });
  await page.register(swagger, {
    mode: "static",
    // Its type ends at OpenAPI 3.0; it is passed on as it is.
    specification: { document: described.swagger() as StaticDocumentSpec["document"] },
  });
  await page.register(swaggerUi, {
    routePrefix: pagePath,
    indexPrefix: "",
    staticCSP: pagePolicy,
    uiConfig: {
      url: "/openapi.json",
      // The page asks this server alone.
      validatorUrl: null,
      docExpansion: "list",
      deepLinking: true,
      // Without the bar on top, whose field would fetch from anywhere.
      layout: "BaseLayout",
    },
    theme: { title: "Millrace: calls of the local server" },
  });
  return page;
}

/** Has the page answer; what is nowhere in it is nowhere in this server. */
async function passOn(
  page: FastifyInstance,
  { url, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = await page.inject({ method: "GET", url, headers });
  if (answer.statusCode === 404) {
    reply.callNotFound();
    return reply;
  }
  // What concerns the connection is not the page's to say.
  const { connection: _connection, date: _date, ...rest } = answer.headers;
  return reply.code(answer.statusCode).headers(rest).send(answer.rawPayload);
}
