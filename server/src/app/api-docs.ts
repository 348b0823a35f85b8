import swagger from "@fastify/swagger";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { PublicUrl } from "../model/network-options.ts";
import { apiVersion } from "../model/options.ts";
import { readDocsFile } from "./api-docs-page.ts";
import { describeOperation, moveSchemasToComponents } from "./api-operation.ts";
import { tags } from "../http/route.ts";

/** Path of the page that shows the API documentation. */
const pagePath = "/docs";

/**
 * Content security policy of the page: allows only files of this server. The page shows no stored data, so inline
 * styles are safe.
 */
const pagePolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/**
 * Adds the API description: OpenAPI 3.1 at `/openapi.json`, generated from the schemas of the routes, and a page that
 * shows it. Must be called before the routes are added.
 */
export function addApiDocs(app: FastifyInstance, publicUrl: PublicUrl | undefined): void {
  const basePath = publicUrl?.basePath ?? "";
  app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Millrace local server",
        version: apiVersion,
        description: "Every path works with and without the prefix `/api/v1`.",
      },
      ...(publicUrl === undefined ? {} : { servers: [{ url: publicUrl.url }] }),
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          key: { type: "apiKey", in: "header", name: "x-api-key" },
          bearer: { type: "http", scheme: "bearer" },
        },
      },
      // The empty entry allows requests without a key, which the server accepts while no key exists.
      security: [{ key: [] }, { bearer: [] }, {}],
    },
    hideUntagged: true,
    transform: ({ schema, url, route }) => ({
      schema: describeOperation(schema, route.config?.docs),
      url,
    }),
    transformObject: (document) =>
      "openapiObject" in document
        ? moveSchemasToComponents(document.openapiObject)
        : document.swaggerObject,
  });
  app.register(async (docsScope: FastifyInstance) => {
    docsScope.get("/openapi.json", async () => docsScope.swagger());
    docsScope.get(`${pagePath}/json`, { schema: { hide: true } }, async () => docsScope.swagger());
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
