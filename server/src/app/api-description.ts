import swagger from "@fastify/swagger";
import fastify from "fastify";
import type { FastifyInstance, RouteOptions } from "fastify";
import type { PublicUrl } from "../model/network-options.ts";
import { apiVersion } from "../model/options.ts";
import { describeOperation, moveSchemasToComponents } from "./api-operation.ts";
import { tags } from "../http/route.ts";
import { unusedCompilers } from "./unused-compilers.ts";

/**
 * Describes routes in OpenAPI 3.1. The generator collects the routes of an application as they are added, so they are
 * added to an application that serves no requests.
 */
export async function describeApi(
  routes: readonly RouteOptions[],
  publicUrl: PublicUrl | undefined,
): Promise<object> {
  const app = fastify({
    exposeHeadRoutes: false,
    schemaController: { compilersFactory: unusedCompilers },
  });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
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
  app.register(async (scope: FastifyInstance) => {
    for (const { method, url, schema, config } of routes) {
      if (method !== "HEAD") {
        scope.route({
          method,
          url,
          ...(schema && { schema }),
          ...(config && { config }),
          handler: () => undefined,
        });
      }
    }
  });
  await app.ready();
  const description = app.swagger();
  await app.close();
  return description;
}
