import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { firstValue, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { OneOf } from "../http/schema-parts.ts";
import { toIso } from "../http/wire-text.ts";
import { dimensions, scopes } from "../metrics/metrics.ts";
import { RequestError } from "../model/errors.ts";
import type { WebhookReads } from "../webhooks/webhook.ts";
import { alertDirections, alertFigures, alertLimits } from "./alert.ts";
import type { Alert, AlertReads, AlertWrites } from "./alert.ts";

/** The part of the store that the handlers of alerts use. */
export interface AlertStore extends RequestScoped<AlertStore> {
  readonly read: { readonly alerts: AlertReads; readonly webhooks: Pick<WebhookReads, "find"> };
  readonly write: { readonly alerts: AlertWrites };
}

const { nameChars, valueChars, filterChars, windowMinutesMin, windowMinutesMax } = alertLimits;

const fields = {
  name: Type.String({ minLength: 1, maxLength: nameChars }),
  figure: OneOf(alertFigures),
  scope: OneOf(scopes),
  group: Type.Union([
    Type.Object({
      by: OneOf(dimensions),
      value: Type.String({ minLength: 1, maxLength: valueChars }),
    }),
    Type.Null(),
  ]),
  filter: Type.Optional(
    Type.Union([Type.String({ maxLength: filterChars, pattern: "\\S" }), Type.Null()]),
  ),
  window_minutes: Type.Integer({ minimum: windowMinutesMin, maximum: windowMinutesMax }),
  direction: OneOf(alertDirections),
  threshold: Type.Number({ minimum: 0 }),
  webhook_id: Type.Union([Type.String(), Type.Null()]),
};

const alertBody = Type.Object({ session_id: Type.String(), ...fields });
const alertPatchBody = Type.Partial(Type.Object({ ...fields, is_enabled: Type.Boolean() }));

const tag = "runs";

/** Adds the routes of alerts, which only the UI uses. */
export function addUiAlertRoutes(app: FastifyInstance, store: AlertStore): void {
  app.route({
    ...route(uiEndpoints.listAlerts, {
      tag,
      summary: "Lists the alerts of a project with their states.",
      query: { session: "The id of the project." },
    }),
    handler: async (request) => {
      const projectId = parseId(firstValue(request.query as QueryString, "session"), "session");
      const alerts = await store.forRequest(request).read.alerts.list(request.tenantId, projectId);
      return alerts.map(toJson);
    },
  });
  app.route<{ Body: Static<typeof alertBody> }>({
    ...route(uiEndpoints.createAlert, { tag, summary: "Creates an alert.", body: alertBody }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const { session_id, window_minutes: windowMinutes, webhook_id, ...otherFields } = body;
      const requestStore = store.forRequest(request);
      const webhookId = await checkWebhook(requestStore, tenantId, webhook_id);
      return toJson(
        await requestStore.write.alerts.create(tenantId, parseId(session_id, "session_id"), {
          name: otherFields.name,
          figure: otherFields.figure,
          scope: otherFields.scope,
          group: otherFields.group,
          filter: otherFields.filter ?? null,
          direction: otherFields.direction,
          threshold: otherFields.threshold,
          windowMinutes,
          webhookId,
        }),
      );
    },
  });
  app.route<{ Body: Static<typeof alertPatchBody> }>({
    ...route(uiEndpoints.updateAlert, {
      tag,
      summary: "Updates the given fields of an alert.",
      body: alertPatchBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const { name, figure, scope, group, filter, direction, threshold } = body;
      const { window_minutes: windowMinutes, webhook_id, is_enabled: isEnabled } = body;
      const requestStore = store.forRequest(request);
      const alert = await requestStore.write.alerts.update(tenantId, readId(request), {
        ...(name !== undefined && { name }),
        ...(figure !== undefined && { figure }),
        ...(scope !== undefined && { scope }),
        ...(group !== undefined && { group }),
        ...(filter !== undefined && { filter }),
        ...(direction !== undefined && { direction }),
        ...(threshold !== undefined && { threshold }),
        ...(windowMinutes !== undefined && { windowMinutes }),
        ...(webhook_id !== undefined && {
          webhookId: await checkWebhook(requestStore, tenantId, webhook_id),
        }),
        ...(isEnabled !== undefined && { isEnabled }),
      });
      return toJson(alert);
    },
  });
  app.route({
    ...route(uiEndpoints.deleteAlert, { tag, summary: "Deletes an alert with its history." }),
    handler: async (request) => {
      const id = readId(request);
      await store.forRequest(request).write.alerts.delete(request.tenantId, id);
      return { id };
    },
  });
  app.route({
    ...route(uiEndpoints.listAlertHistory, {
      tag,
      summary: "Lists the latest changes of an alert's state.",
    }),
    handler: async (request) => {
      const events = await store
        .forRequest(request)
        .read.alerts.listHistory(request.tenantId, readId(request));
      return events.map(({ atMicros, state, value }) => ({ at: toIso(atMicros), state, value }));
    },
  });
}

/** @throws RequestError 422: there is no such webhook. */
async function checkWebhook(
  store: AlertStore,
  tenantId: string,
  id: string | null,
): Promise<string | null> {
  if (id === null) {
    return null;
  }
  const webhookId = parseId(id, "webhook_id");
  try {
    await store.read.webhooks.find(tenantId, webhookId);
  } catch (cause) {
    throw cause instanceof RequestError
      ? new RequestError(422, "webhook_id: there is no such webhook")
      : cause;
  }
  return webhookId;
}

const readId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "id");

const toTime = (micros: number | null): string | null => (micros === null ? null : toIso(micros));

const toJson = (alert: Alert) => ({
  id: alert.id,
  session_id: alert.projectId,
  name: alert.name,
  figure: alert.figure,
  scope: alert.scope,
  group: alert.group,
  filter: alert.filter,
  window_minutes: alert.windowMinutes,
  direction: alert.direction,
  threshold: alert.threshold,
  webhook_id: alert.webhookId,
  is_enabled: alert.isEnabled,
  created_at: toIso(alert.createdMicros),
  state: alert.status.state,
  value: alert.value,
  evaluated_at: toTime(alert.evaluatedMicros),
  changed_at: toTime(alert.changedMicros),
  problem: alert.problem,
});
