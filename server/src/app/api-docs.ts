import swagger from "@fastify/swagger";
import type { FastifyInstance, FastifyReply } from "fastify";
import { apiVersion } from "../model/options.ts";
import { readDocsFile } from "./api-docs-page.ts";
import { tags } from "../http/route.ts";

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
    open.get(`${pagePath}/json`, { schema: { hide: true } }, async () => open.swagger());
    open.get(pagePath, { schema: { hide: true } }, (_request, reply) => sendFile("", reply));
    open.get<{ readonly Params: { readonly "*": string } }>(
      `${pagePath}/*`,
      { schema: { hide: true } },
      ({ params }, reply) => sendFile(params["*"], reply),
    );
  });
}

async function sendFile(path: string, reply: FastifyReply): Promise<FastifyReply> {
  const file = await readDocsFile(path);
  if (file === undefined) {
    reply.callNotFound();
    return reply;
  }
  return reply.header("content-security-policy", pagePolicy).type(file.type).send(file.body);
}
