import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { selectRunFields } from "../filter/fields.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { firstValue, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import { scopeToRequest } from "../http/request-scope.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { Time } from "../http/schema-parts.ts";
import { toIso } from "../http/wire-text.ts";
import { RequestError } from "../model/errors.ts";
import { parseOptionalTime, parseTimeBound } from "../model/parse-time.ts";
import type { ModelAccess } from "../models/model-access.ts";
import { assertActionTarget, ruleActionSchema } from "./rule-action.ts";
import type { ActionStore, RuleAction } from "./rule-action.ts";
import type { JudgeDependencies } from "./judge-action.ts";
import { ruleLimits } from "./rule.ts";
import type { Rule, RuleReads, RuleWrites } from "./rule.ts";

/** The part of the store that the routes of rules use. */
export interface RuleStore extends RequestScoped<RuleStore>, ActionStore {
  readonly read: ActionStore["read"] & { readonly rules: RuleReads };
  readonly write: ActionStore["write"] & { readonly rules: RuleWrites };
}

const nameSchema = Type.String({ minLength: 1, maxLength: ruleLimits.nameChars });
const filterSchema = Type.String({ maxLength: ruleLimits.filterChars });
const rateSchema = Type.Number({ exclusiveMinimum: 0, maximum: 1 });

const ruleBody = Type.Object({
  session_id: Type.String(),
  name: nameSchema,
  filter: filterSchema,
  sampling_rate: rateSchema,
  action: ruleActionSchema,
});
const rulePatchBody = Type.Object({
  name: Type.Optional(nameSchema),
  filter: Type.Optional(filterSchema),
  sampling_rate: Type.Optional(rateSchema),
  action: Type.Optional(ruleActionSchema),
  is_enabled: Type.Optional(Type.Boolean()),
});
/**
 * The range of start times of the past runs to which a rule is to be applied. A body without `from` and `to` stops
 * applying the rule to past runs.
 */
const applyBody = Type.Object({ from: Type.Optional(Time), to: Type.Optional(Time) });

const tag = "runs";

/** What the routes of rules depend on. */
export interface RuleRouteDependencies {
  readonly store: RuleStore;
  readonly judging: JudgeDependencies;
  /** Decides who may call models. */
  readonly access: Pick<ModelAccess, "check">;
  /** Called after a rule was created or changed. */
  readonly onChange: () => void;
}

/** Adds the routes of rules, which only the UI uses. */
export function addUiRuleRoutes(app: FastifyInstance, dependencies: RuleRouteDependencies): void {
  const { store, onChange } = dependencies;
  app.route({
    ...route(uiEndpoints.listRules, {
      tag,
      summary: "Lists the rules of a project.",
      query: { session: "The id of the project." },
    }),
    handler: async (request) => {
      const projectId = parseId(firstValue(request.query as QueryString, "session"), "session");
      const rules = await store.forRequest(request).read.rules.list(request.tenantId, projectId);
      return rules.map(toJson);
    },
  });
  app.route<{ Body: Static<typeof ruleBody> }>({
    ...route(uiEndpoints.createRule, {
      tag,
      summary: "Creates a rule of a project.",
      body: ruleBody,
    }),
    handler: async (request) => {
      const { body, tenantId, headers } = request;
      const scoped = scopeToRequest(dependencies, request);
      const action = parseAction(body.action);
      readFilter(selectRunFields(true), "filter", body.filter);
      await assertActionTarget(scoped, tenantId, action);
      await checkAccess(dependencies, headers, action);
      const projectId = parseId(body.session_id, "session_id");
      const rule = await scoped.store.write.rules.create(tenantId, projectId, {
        name: body.name,
        filter: body.filter.trim(),
        samplingRate: body.sampling_rate,
        action,
      });
      onChange();
      return toJson(rule);
    },
  });
  app.route<{ Body: Static<typeof rulePatchBody> }>({
    ...route(uiEndpoints.updateRule, {
      tag,
      summary: "Updates the given fields of a rule.",
      body: rulePatchBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const scoped = scopeToRequest(dependencies, request);
      readFilter(selectRunFields(true), "filter", body.filter);
      const id = readId(request);
      const action = body.action && parseAction(body.action);
      if (action !== undefined) {
        await assertActionTarget(scoped, tenantId, action);
      }
      if (body.is_enabled !== false) {
        const { action: current } = await scoped.store.read.rules.find(tenantId, id);
        await checkAccess(dependencies, request.headers, action ?? current);
      }
      const rule = await scoped.store.write.rules.update(tenantId, id, {
        ...(body.name !== undefined && { name: body.name }),
        ...(body.filter !== undefined && { filter: body.filter.trim() }),
        ...(body.sampling_rate !== undefined && { samplingRate: body.sampling_rate }),
        ...(action !== undefined && { action }),
        ...(body.is_enabled !== undefined && { isEnabled: body.is_enabled }),
      });
      onChange();
      return toJson(rule);
    },
  });
  app.route({
    ...route(uiEndpoints.deleteRule, { tag, summary: "Deletes a rule." }),
    handler: async (request) => {
      const id = readId(request);
      await store.forRequest(request).write.rules.delete(request.tenantId, id);
      return { id };
    },
  });
  app.route<{ Body: Static<typeof applyBody> }>({
    ...route(uiEndpoints.applyRule, {
      tag,
      summary:
        "Applies a rule to past runs in a range of start times; without a range, stops doing so.",
      body: applyBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const { read, write } = store.forRequest(request);
      const id = readId(request);
      const range = readRange(body);
      if (range !== undefined) {
        const { action } = await read.rules.find(tenantId, id);
        await checkAccess(dependencies, request.headers, action);
      }
      const rule =
        range === undefined
          ? await write.rules.endPast(tenantId, id)
          : await write.rules.beginPast(tenantId, id, range);
      onChange();
      return toJson(rule);
    },
  });
  app.route({
    ...route(uiEndpoints.retryRule, { tag, summary: "Tries the failed actions again." }),
    handler: async (request) => {
      const id = readId(request);
      const { read, write } = store.forRequest(request);
      const { action } = await read.rules.find(request.tenantId, id);
      await checkAccess(dependencies, request.headers, action);
      const count = await write.rules.retry(request.tenantId, id);
      onChange();
      return { count };
    },
  });
}

/**
 * If an action calls a model, checks that the client may call models.
 *
 * @throws RequestError 403: the client may not call models.
 */
async function checkAccess(
  { access }: RuleRouteDependencies,
  headers: IncomingHttpHeaders,
  action: RuleAction,
): Promise<void> {
  if (action.kind === "judge") {
    await access.check(headers);
  }
}

/** Checks the ids in an action. */
const parseAction = (action: RuleAction): RuleAction => {
  switch (action.kind) {
    case "queue":
      return { ...action, queue_id: parseId(action.queue_id, "action.queue_id") };
    case "dataset":
      return { ...action, dataset_id: parseId(action.dataset_id, "action.dataset_id") };
    case "webhook":
      return { ...action, webhook_id: parseId(action.webhook_id, "action.webhook_id") };
    case "judge":
      return action;
  }
};

function readRange({ from, to }: Static<typeof applyBody>) {
  if (from === undefined && to === undefined) {
    return undefined;
  }
  const fromMicros = parseOptionalTime(from, "from", parseTimeBound);
  const toMicros = parseOptionalTime(to, "to", parseTimeBound);
  const maxMicros = ruleLimits.pastDays * 86_400_000_000;
  if (
    typeof fromMicros !== "number" ||
    typeof toMicros !== "number" ||
    toMicros <= fromMicros ||
    toMicros - fromMicros > maxMicros
  ) {
    throw new RequestError(
      422,
      `from and to must be times, and to must be later than from by at most ${ruleLimits.pastDays} days`,
    );
  }
  return { fromMicros, toMicros };
}

const readId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "id");

const toJson = (rule: Rule) => ({
  id: rule.id,
  session_id: rule.projectId,
  name: rule.name,
  filter: rule.filter,
  sampling_rate: rule.samplingRate,
  action: rule.action,
  is_enabled: rule.isEnabled,
  paused_reason: rule.pausedReason,
  created_at: toIso(rule.createdMicros),
  matched: rule.matched,
  applied: rule.applied,
  failed: rule.failed,
  last_errors: rule.lastErrors.map(({ runId, atMicros, reason, nextMicros }) => ({
    run_id: runId,
    at: toIso(atMicros),
    reason,
    next_attempt_at: nextMicros === null ? null : toIso(nextMicros),
  })),
  past:
    rule.past === null
      ? null
      : {
          from: toIso(rule.past.fromMicros),
          to: toIso(rule.past.toMicros),
          position: toIso(rule.past.positionMicros),
        },
});
