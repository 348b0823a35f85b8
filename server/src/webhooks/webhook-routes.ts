import { hourMicros } from "../model/durations.ts";
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { firstValue, parseId } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { toIso } from "../http/wire-text.ts";
import { RequestError } from "../model/errors.ts";
import type { OutboundClient } from "../outbound/outbound-client.ts";
import { OutboundError } from "../outbound/outbound-error.ts";
import { deliveryStates, webhookLimits } from "./webhook.ts";
import type { Delivery, Webhook, WebhookReads, WebhookWrites } from "./webhook.ts";
import type { WebhookSender } from "./webhook-sender.ts";

/** The part of the store that the handlers of webhooks use. */
export interface WebhookStore extends RequestScoped<WebhookStore> {
  readonly read: { readonly webhooks: WebhookReads };
  readonly write: { readonly webhooks: WebhookWrites };
}

/** What the routes of webhooks depend on. */
export interface WebhookDependencies {
  readonly store: WebhookStore;
  readonly outbound: OutboundClient;
  readonly sender: WebhookSender;
}

const nameSchema = Type.String({ minLength: 1, maxLength: webhookLimits.nameChars });
const urlSchema = Type.String({ minLength: 1 });
const webhookBody = Type.Object({ name: nameSchema, url: urlSchema });
const webhookPatchBody = Type.Object({
  name: Type.Optional(nameSchema),
  url: Type.Optional(urlSchema),
  is_enabled: Type.Optional(Type.Boolean()),
});
const resendBody = Type.Object({
  ids: Type.Optional(Type.Array(Type.String(), { maxItems: webhookLimits.resent })),
});

const secretBody = Type.Object({
  overlap_hours: Type.Integer({ minimum: 0, maximum: webhookLimits.overlapHours }),
});

const tag = "server";

/** Adds the routes of webhooks, which only the UI uses. */
export function addUiWebhookRoutes(
  app: FastifyInstance,
  { store, outbound, sender }: WebhookDependencies,
): void {
  app.route({
    ...route(uiEndpoints.listWebhooks, { tag, summary: "Lists the webhooks of the tenant." }),
    handler: async (request) => {
      const webhooks = await store.forRequest(request).read.webhooks.list(request.tenantId);
      return webhooks.map(toJson);
    },
  });
  app.route<{ Body: Static<typeof webhookBody> }>({
    ...route(uiEndpoints.createWebhook, {
      tag,
      summary: "Creates a webhook. The response contains its secret, which can't be read again.",
      body: webhookBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      const url = await checkTarget(outbound, body.url);
      const { name } = body;
      const { webhook, secret } = await store
        .forRequest(request)
        .write.webhooks.create(tenantId, { name, url });
      return { ...toJson(webhook), secret };
    },
  });
  app.route<{ Body: Static<typeof webhookPatchBody> }>({
    ...route(uiEndpoints.updateWebhook, {
      tag,
      summary: "Updates the given fields of a webhook.",
      body: webhookPatchBody,
    }),
    handler: async (request) => {
      const { name, url, is_enabled: isEnabled } = request.body;
      const webhook = await store
        .forRequest(request)
        .write.webhooks.update(request.tenantId, readId(request), {
          ...(name !== undefined && { name }),
          ...(url !== undefined && { url: await checkTarget(outbound, url) }),
          ...(isEnabled !== undefined && { isEnabled }),
        });
      sender.wake();
      return toJson(webhook);
    },
  });
  app.route<{ Body: Static<typeof secretBody> }>({
    ...route(uiEndpoints.updateWebhookSecret, {
      tag,
      summary:
        "Gives a webhook a new secret, which can't be read again. For the given hours, deliveries are signed with the old one as well.",
      body: secretBody,
    }),
    handler: async (request) => {
      const { webhook, secret } = await store
        .forRequest(request)
        .write.webhooks.updateSecret(
          request.tenantId,
          readId(request),
          request.body.overlap_hours * hourMicros,
        );
      return { ...toJson(webhook), secret };
    },
  });
  app.route({
    ...route(uiEndpoints.deleteWebhook, {
      tag,
      summary: "Deletes a webhook with its deliveries.",
    }),
    handler: async (request) => {
      const id = readId(request);
      await store.forRequest(request).write.webhooks.delete(request.tenantId, id);
      return { id };
    },
  });
  app.route({
    ...route(uiEndpoints.testWebhook, {
      tag,
      summary: "Sends a test to a webhook, and reports whether it was accepted.",
    }),
    handler: async (request) => {
      const id = readId(request);
      return sender.sendTest(request.tenantId, id, randomUUID());
    },
  });
  app.route({
    ...route(uiEndpoints.listDeliveries, {
      tag,
      summary: "Lists the latest deliveries of a webhook.",
      query: { state: `Only those in this state: ${deliveryStates.join(", ")}.` },
    }),
    handler: async (request) => {
      const webhookId = readId(request);
      const state = readState(request.query as QueryString);
      const deliveries = await store
        .forRequest(request)
        .read.webhooks.listDeliveries(request.tenantId, {
          webhookId,
          ...(state !== undefined && { state }),
        });
      return deliveries.map(toDeliveryJson);
    },
  });
  app.route({
    ...route(uiEndpoints.readDelivery, {
      tag,
      summary: "Reads a delivery with the body that is sent.",
    }),
    handler: async (request) => {
      const delivery = await store
        .forRequest(request)
        .read.webhooks.findDelivery(request.tenantId, readId(request));
      return { ...toDeliveryJson(delivery), body: delivery.body };
    },
  });
  app.route<{ Body: Static<typeof resendBody> }>({
    ...route(uiEndpoints.resendDeliveries, {
      tag,
      summary: "Sends failed deliveries of a webhook again: those with the given ids, or all.",
      body: resendBody,
    }),
    handler: async (request) => {
      const { ids } = request.body;
      const count = await store.forRequest(request).write.webhooks.resend(request.tenantId, {
        webhookId: readId(request),
        ...(ids !== undefined && { ids }),
      });
      sender.wake();
      return { count };
    },
  });
}

/**
 * Checks the address of a webhook, and returns it in its normal form.
 *
 * @throws RequestError 422: it may not be called. The detail says what is allowed.
 */
async function checkTarget(outbound: OutboundClient, text: string): Promise<string> {
  try {
    return (await outbound.checkTarget(text)).href;
  } catch (cause) {
    throw cause instanceof OutboundError ? new RequestError(422, `url: ${cause.message}`) : cause;
  }
}

const readId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "id");

function readState(query: QueryString) {
  const text = firstValue(query, "state");
  if (text === undefined || text === "") {
    return undefined;
  }
  const state = deliveryStates.find((name) => name === text);
  if (state === undefined) {
    throw new RequestError(422, `state must be one of ${deliveryStates.join(", ")}`);
  }
  return state;
}

const toTime = (micros: number | null): string | null => (micros === null ? null : toIso(micros));

const toJson = (webhook: Webhook) => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  is_enabled: webhook.isEnabled,
  created_at: toIso(webhook.createdMicros),
  delivered: webhook.delivered,
  waiting: webhook.waiting,
  dead: webhook.dead,
  last_delivered_at: toTime(webhook.lastDeliveredMicros),
  previous_secret_until: toTime(webhook.previousSecretUntilMicros),
});

const toDeliveryJson = (delivery: Delivery) => ({
  id: delivery.id,
  event: delivery.event,
  state: delivery.state,
  attempts: delivery.attempts,
  created_at: toIso(delivery.createdMicros),
  next_at: toTime(delivery.nextMicros),
  last_at: toTime(delivery.lastMicros),
  last_status: delivery.lastStatus,
  last_error: delivery.lastError,
});
