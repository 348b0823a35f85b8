import type { FastifyInstance } from "fastify";
import { endpoints } from "millrace/model";
import type { Static } from "typebox";
import { infoSchema, readInfo, readRoot } from "./info.ts";
import { handleBody, readSettings, setTenantHandle } from "../tenants/tenant-handlers.ts";
import { route } from "../http/route.ts";
import type { Store } from "../store/store.ts";
import { settingsSchema } from "../tenants/tenant-schemas.ts";

const apiTag = "server";

/** Routes that describe the server and need no key. */
export function addInfoRoutes(app: FastifyInstance, store: Store): void {
  app.get("/", async ({ baseUrl }) => readRoot(baseUrl));
  app.route({
    ...route(endpoints.readInfo, {
      tag: apiTag,
      summary: "Reads the capabilities of this server.",
      isPublic: true,
      response: infoSchema,
    }),
    handler: async () => readInfo(store),
  });
}

/** Adds the routes of the caller's tenant. */
export function addSettingsRoutes(app: FastifyInstance, store: Store): void {
  app.route({
    ...route(endpoints.readSettings, {
      tag: apiTag,
      summary: "Reads the tenant that the key belongs to.",
      response: settingsSchema,
    }),
    handler: (request) => readSettings(store.forRequest(request), request),
  });
  app.route<{ Body: Static<typeof handleBody> }>({
    ...route(endpoints.setTenantHandle, {
      tag: apiTag,
      summary: "Sets the name by which the tenant's public prompts are addressed.",
      body: handleBody,
      response: settingsSchema,
    }),
    handler: (request) => setTenantHandle(store.forRequest(request), request),
  });
}
