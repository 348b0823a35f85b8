import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import {
  createKey,
  createTenant,
  keyBody,
  listKeys,
  listRetention,
  listTenants,
  readServerFacts,
  readStorage,
  retentionBody,
  revokeKey,
  setRetention,
  tenantBody,
} from "./settings-handlers.ts";
import type {
  KeyBody,
  RetentionBody,
  SettingsDependencies,
  TenantBody,
} from "./settings-handlers.ts";
import { route } from "../http/route.ts";

const tag = "server";

/** What the page of the settings asks and changes. */
export function addUiSettingsRoutes(
  app: FastifyInstance,
  dependencies: SettingsDependencies,
): void {
  const { store } = dependencies;
  app.route({
    ...route(uiEndpoints.readServerFacts, { tag, summary: "Version, and who is asking." }),
    handler: (request) => readServerFacts(dependencies, request),
  });
  app.route({
    ...route(uiEndpoints.listKeys, { tag, summary: "Keys, without the keys." }),
    handler: (request) => listKeys(dependencies, request),
  });
  app.route<{ Body: KeyBody }>({
    ...route(uiEndpoints.createKey, { tag, summary: "Makes a key.", body: keyBody }),
    handler: (request, reply) => createKey(dependencies, request, reply),
  });
  app.route({
    ...route(uiEndpoints.revokeKey, { tag, summary: "Ends a key." }),
    handler: (request) => revokeKey(dependencies, request),
  });
  app.route({
    ...route(uiEndpoints.listTenants, { tag, summary: "Tenants that the caller may see." }),
    handler: (request) => listTenants(dependencies, request),
  });
  app.route<{ Body: TenantBody }>({
    ...route(uiEndpoints.createTenant, { tag, summary: "Makes a tenant.", body: tenantBody }),
    handler: (request, reply) => createTenant(dependencies, request, reply),
  });
  app.route({
    ...route(uiEndpoints.readStorage, { tag, summary: "What takes room." }),
    handler: (request) => readStorage(store, request),
  });
  app.route({
    ...route(uiEndpoints.listRetention, { tag, summary: "How long runs are kept." }),
    handler: (request) => listRetention(store, request),
  });
  app.route<{ Body: RetentionBody }>({
    ...route(uiEndpoints.setRetention, {
      tag,
      summary: "Sets, or takes away, how long runs are kept.",
      body: retentionBody,
    }),
    handler: (request) => setRetention(store, request),
  });
}
