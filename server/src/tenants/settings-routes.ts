import { scopeToRequest } from "../http/request-scope.ts";
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

const apiTag = "server";

export function addUiSettingsRoutes(
  app: FastifyInstance,
  dependencies: SettingsDependencies,
): void {
  const { store } = dependencies;
  app.route({
    ...route(uiEndpoints.readServerFacts, {
      tag: apiTag,
      summary: "Reads the server's version and the caller's access.",
    }),
    handler: (request) => readServerFacts(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(uiEndpoints.listKeys, {
      tag: apiTag,
      summary: "Lists API keys, without their secrets.",
    }),
    handler: (request) => listKeys(scopeToRequest(dependencies, request), request),
  });
  app.route<{ Body: KeyBody }>({
    ...route(uiEndpoints.createKey, { tag: apiTag, summary: "Creates an API key.", body: keyBody }),
    handler: (request, reply) => createKey(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(uiEndpoints.revokeKey, { tag: apiTag, summary: "Revokes an API key." }),
    handler: (request) => revokeKey(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(uiEndpoints.listTenants, {
      tag: apiTag,
      summary: "Lists the tenants that are visible to the caller.",
    }),
    handler: (request) => listTenants(scopeToRequest(dependencies, request), request),
  });
  app.route<{ Body: TenantBody }>({
    ...route(uiEndpoints.createTenant, {
      tag: apiTag,
      summary: "Creates a tenant.",
      body: tenantBody,
    }),
    handler: (request, reply) =>
      createTenant(scopeToRequest(dependencies, request), request, reply),
  });
  app.route({
    ...route(uiEndpoints.readStorage, {
      tag: apiTag,
      summary: "Reads how much disk space and how much of the limits is used.",
    }),
    handler: (request) => readStorage(scopeToRequest(dependencies, request), request),
  });
  app.route({
    ...route(uiEndpoints.listRetention, {
      tag: apiTag,
      summary: "Lists the retention rules of runs.",
    }),
    handler: (request) => listRetention(store.forRequest(request), request),
  });
  app.route<{ Body: RetentionBody }>({
    ...route(uiEndpoints.setRetention, {
      tag: apiTag,
      summary: "Sets or removes a retention rule.",
      body: retentionBody,
    }),
    handler: (request) => setRetention(store.forRequest(request), request),
  });
}
