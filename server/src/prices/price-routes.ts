import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { Maybe, OneOf } from "../http/schema-parts.ts";
import type { RecomputeProgress } from "../runs/usage/run-cost.ts";
import type { PriceReads, PriceWrites } from "./price.ts";
import { parsePrice, parsePriceKey, toPriceJson } from "./price-json.ts";
import { maxPriceRows } from "./price-repository.ts";

/** The part of the store that the handlers of prices use. */
export interface PriceStore extends RequestScoped<PriceStore> {
  readonly read: { readonly prices: PriceReads };
  readonly write: { readonly prices: PriceWrites };
}

/** Body of `PUT /ui/prices`. The rows are checked by the handler, whose errors say what is wrong. */
const setBody = Type.Object({
  prices: Type.Array(Type.Unknown(), { maxItems: maxPriceRows }),
  replace: Maybe(Type.Boolean()),
});
const recomputeBody = Type.Object({ mode: OneOf(["restart", "resume", "continue"]) });

const apiTag = "server";

/** Adds the routes of the price table, which the command `millrace prices` uses. */
export function addPriceRoutes(app: FastifyInstance, store: PriceStore): void {
  app.route({
    ...route(uiEndpoints.listPrices, { tag: apiTag, summary: "Lists the price table." }),
    handler: async (request) => {
      const rows = await store.forRequest(request).read.prices.list(request.tenantId);
      return { prices: rows.map(toPriceJson) };
    },
  });
  app.route<{ Body: Static<typeof setBody> }>({
    ...route(uiEndpoints.setPrices, {
      tag: apiTag,
      summary: "Adds rows to the price table, or replaces it.",
      body: setBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const rows = body.prices.map((row, index) => parsePrice(row, `prices[${index}]`));
      await store
        .forRequest(request)
        .write.prices.set(tenantId, { rows, replacesTable: body.replace === true });
      return { prices: rows.map(toPriceJson) };
    },
  });
  app.route<{ Body: unknown }>({
    ...route(uiEndpoints.removePrice, {
      tag: apiTag,
      summary: "Removes a row of the price table.",
      body: Type.Unknown(),
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const key = parsePriceKey(body, "price");
      await store.forRequest(request).write.prices.remove(tenantId, key);
      return { removed: 1 };
    },
  });
  app.route<{ Body: Static<typeof recomputeBody> }>({
    ...route(uiEndpoints.recomputeCosts, {
      tag: apiTag,
      summary: "Computes the costs of some stored runs again.",
      body: recomputeBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const { prices } = store.forRequest(request).write;
      return toProgressJson(await prices.recompute(tenantId, body.mode));
    },
  });
}

const toProgressJson = ({ isDone, unknownModels, ...counts }: RecomputeProgress) => ({
  ...counts,
  done: isDone,
  unknown_models: unknownModels,
});
