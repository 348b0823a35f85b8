import { dayMicros } from "../model/durations.ts";
import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import type { RequestScoped } from "../http/request-scope.ts";
import { firstValue, parseCount } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import { route } from "../http/route.ts";
import { toIso } from "../http/wire-text.ts";
import { Maybe, OneOf } from "../http/schema-parts.ts";
import type { RecomputeProgress } from "../runs/usage/run-cost.ts";
import type { ModelCallGroup, PriceReads, PriceWrites } from "./price.ts";
import { parsePrice, parsePriceKey, toPriceJson } from "./price-json.ts";
import { maxPriceRows } from "./price-repository.ts";

/** The part of the store that the handlers of prices use. */
export interface PriceStore extends RequestScoped<PriceStore> {
  readonly read: { readonly prices: PriceReads };
  readonly write: { readonly prices: PriceWrites };
}

/** Body of `PUT /ui/prices`. The handler checks the rows, so that errors say which value is wrong. */
const setBody = Type.Object({
  prices: Type.Array(Type.Unknown(), { maxItems: maxPriceRows }),
  replace: Maybe(Type.Boolean()),
});
const recomputeBody = Type.Object({ mode: OneOf(["restart", "resume", "continue"]) });

const defaultDays = 30;
const maxDays = 90;
const defaultLimit = 100;
const maxLimit = 200;
/** Longer search texts are cut, because no name contains them. */
const maxTextChars = 500;
const maxOffset = 100_000;
/** Milliseconds after which the counting of model calls stops. The response then says that it is incomplete. */
const countMs = 400;

const apiTag = "server";

/** Adds the routes of prices. The command `millrace prices` uses the routes of the price table. */
export function addPriceRoutes(app: FastifyInstance, store: PriceStore): void {
  app.route({
    ...route(uiEndpoints.listPricedModels, {
      tag: apiTag,
      summary: "Counts the latest model calls by the price that applied to them.",
      query: { days: `Days to look back, from 1 to ${maxDays}; default ${defaultDays}.` },
    }),
    handler: async (request) => {
      const query = request.query as QueryString;
      const days = parseCount(query, "days", { fallback: defaultDays, min: 1, max: maxDays });
      const sinceMicros = Math.max(0, Date.now() * 1_000 - days * dayMicros);
      const { groups, otherCalls, isComplete } = await store
        .forRequest(request)
        .read.prices.readModelCalls(request.tenantId, { sinceMicros, withinMs: countMs });
      return {
        models: groups.map(toGroupJson),
        other_calls: otherCalls,
        is_complete: isComplete,
        days,
      };
    },
  });
  app.route({
    ...route(uiEndpoints.listLibraryPrices, {
      tag: apiTag,
      summary: "Lists the built-in public prices.",
      query: {
        q: "A part of the name of a model or of a provider.",
        limit: `Maximum number of prices, from 1 to ${maxLimit}; default ${defaultLimit}.`,
        offset: "Number of prices to skip.",
      },
    }),
    handler: async (request) => {
      const query = request.query as QueryString;
      const limit = parseCount(query, "limit", { fallback: defaultLimit, min: 1, max: maxLimit });
      const offset = parseCount(query, "offset", { fallback: 0, min: 0, max: maxOffset });
      const text = (firstValue(query, "q") ?? "").slice(0, maxTextChars);
      const page = await store
        .forRequest(request)
        .read.prices.listLibrary(request.tenantId, { text, limit, offset, timeMs: Date.now() });
      return {
        prices: page.prices.map(({ provider, providerName, model, prices }) => ({
          provider,
          provider_name: providerName,
          model,
          prices,
        })),
        total: page.total,
      };
    },
  });
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
      summary: "Recomputes the costs of some stored runs.",
      body: recomputeBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const { prices } = store.forRequest(request).write;
      return toProgressJson(await prices.recompute(tenantId, body.mode));
    },
  });
}

const toGroupJson = ({ latestMicros, ...group }: ModelCallGroup) => ({
  ...group,
  latest: toIso(latestMicros),
});

const toProgressJson = ({ isDone, unknownModels, ...counts }: RecomputeProgress) => ({
  ...counts,
  done: isDone,
  unknown_models: unknownModels,
});
