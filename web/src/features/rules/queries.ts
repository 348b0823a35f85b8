import { queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { callJson, deleteJson, getJson, patchJson, postJson } from "../../api/http.ts";
import { createModelHeaders } from "../../api/model-session.ts";
import { requireText, toItems, toNumber, toRecord, toText } from "../../api/parse.ts";
import { parseAlertHistory, parseAlerts } from "./alert.ts";
import { parseRules, toRuleBody } from "./rule.ts";
import type { RuleDraft, TargetKind } from "./rule.ts";
import { parseDeliveries, parseWebhooks } from "./webhook.ts";

/** The milliseconds after which a list is read again, because the server changes the lists in the background. */
const refetchIntervalMs = 5_000;

export const createRulesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["rules", projectId],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ session: projectId });
      return parseRules(await getJson(`${toEndpointPath("/ui/rules")}?${query}`, signal));
    },
    refetchInterval: refetchIntervalMs,
  });

export const createAlertsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["alerts", projectId],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ session: projectId });
      return parseAlerts(await getJson(`${toEndpointPath("/ui/alerts")}?${query}`, signal));
    },
    refetchInterval: refetchIntervalMs,
  });

export const createAlertHistoryQuery = (id: string) =>
  queryOptions({
    queryKey: ["alerts", "history", id],
    queryFn: async ({ signal }) =>
      parseAlertHistory(await getJson(toEndpointPath("/ui/alerts/:id/history", { id }), signal)),
    refetchInterval: refetchIntervalMs,
  });

export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: async ({ signal }) =>
    parseWebhooks(await getJson(toEndpointPath("/ui/webhooks"), signal)),
  refetchInterval: refetchIntervalMs,
});

export const createDeliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ["webhooks", "deliveries", id],
    queryFn: async ({ signal }) =>
      parseDeliveries(await getJson(toEndpointPath("/ui/webhooks/:id/deliveries", { id }), signal)),
    refetchInterval: refetchIntervalMs,
  });

/** The queues and datasets to which a rule can add runs; at most 100 of each. */
export const createTargetsQuery = (kind: Exclude<TargetKind, "webhook">) =>
  queryOptions({
    queryKey: ["rule-targets", kind],
    queryFn: async ({ signal }) => {
      const path =
        kind === "queue" ? toEndpointPath("/annotation-queues") : toEndpointPath("/datasets");
      return toItems(await getJson(`${path}?limit=100`, signal))
        .map(toRecord)
        .map(({ id, name }) => ({ id: toText(id) ?? "", name: toText(name) ?? "" }));
    },
  });

/** Changes the rule with the id, or creates one if the id is `undefined`. */
export async function saveRule(
  projectId: string,
  id: string | undefined,
  draft: RuleDraft,
): Promise<void> {
  const body = toRuleBody(draft);
  await (id === undefined
    ? callRule("POST", toEndpointPath("/ui/rules"), { ...body, session_id: projectId })
    : callRule("PATCH", toEndpointPath("/ui/rules/:id", { id }), body));
}

/** Sends a request for a rule with the headers that permit model calls, because the rule may have a judge. */
const callRule = async (method: "POST" | "PATCH", path: string, body: object): Promise<unknown> =>
  callJson(path, { method, body, headers: createModelHeaders() });

export const enableRule = async (id: string, isEnabled: boolean): Promise<unknown> =>
  callRule("PATCH", toEndpointPath("/ui/rules/:id", { id }), { is_enabled: isEnabled });

export const deleteRule = async (id: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/ui/rules/:id", { id }));

/** Applies a rule to the traces of the last `days` days. With `undefined`, stops applying it to past traces. */
export const applyRule = async (id: string, days: number | undefined): Promise<unknown> => {
  const nowMs = Date.now();
  const range =
    days === undefined
      ? {}
      : {
          from: new Date(nowMs - days * 86_400_000).toISOString(),
          to: new Date(nowMs).toISOString(),
        };
  return callRule("POST", toEndpointPath("/ui/rules/:id/apply", { id }), range);
};

export const retryRule = async (id: string): Promise<unknown> =>
  callRule("POST", toEndpointPath("/ui/rules/:id/retry", { id }), {});

/** Changes the alert with the id, or creates one if the id is `undefined`. */
export async function saveAlert(
  projectId: string,
  id: string | undefined,
  body: object,
): Promise<void> {
  await (id === undefined
    ? postJson(toEndpointPath("/ui/alerts"), { ...body, session_id: projectId })
    : patchJson(toEndpointPath("/ui/alerts/:id", { id }), body));
}

export const enableAlert = async (id: string, isEnabled: boolean): Promise<unknown> =>
  patchJson(toEndpointPath("/ui/alerts/:id", { id }), { is_enabled: isEnabled });

export const deleteAlert = async (id: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/ui/alerts/:id", { id }));

/** Creates a webhook, and returns its secret, which can't be read again. */
export async function createWebhook(body: {
  readonly name: string;
  readonly url: string;
}): Promise<string> {
  return requireText(toRecord(await postJson(toEndpointPath("/ui/webhooks"), body)), "secret");
}

/** Gives a webhook a new secret, and returns it. For `overlapHours`, deliveries are also signed with the old secret. */
export const changeWebhookSecret = async (id: string, overlapHours: number): Promise<string> => {
  const path = toEndpointPath("/ui/webhooks/:id/secret", { id });
  return requireText(toRecord(await postJson(path, { overlap_hours: overlapHours })), "secret");
};

export const updateWebhook = async (id: string, body: object): Promise<unknown> =>
  patchJson(toEndpointPath("/ui/webhooks/:id", { id }), body);

export const deleteWebhook = async (id: string): Promise<unknown> =>
  deleteJson(toEndpointPath("/ui/webhooks/:id", { id }));

/** The result of a test event: the status of the receiver's response, or why the test failed. */
export interface TestResult {
  readonly status: number | undefined;
  readonly error: string | undefined;
}

export async function testWebhook(id: string): Promise<TestResult> {
  const { status, error } = toRecord(
    await postJson(toEndpointPath("/ui/webhooks/:id/test", { id }), {}),
  );
  return { status: toNumber(status), error: toText(error) };
}

/** Sends failed deliveries of a webhook again: the deliveries with the given ids or, without `ids`, all of them. */
export const resendDeliveries = async (id: string, ids?: readonly string[]): Promise<unknown> =>
  postJson(toEndpointPath("/ui/webhooks/:id/resend", { id }), ids === undefined ? {} : { ids });
