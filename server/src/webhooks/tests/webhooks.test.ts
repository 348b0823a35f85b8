import { createHmac, randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  call,
  runOwnServer,
  runServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { receiveWebhooks } from "../../../tests/support/webhook-receiver.ts";
import type { ReceivedDelivery } from "../../../tests/support/webhook-receiver.ts";
import { OutboundClient } from "../../outbound/outbound-client.ts";
import { parseAllowedHost } from "../../outbound/target-rules.ts";
import { WebhookSender } from "../webhook-sender.ts";
import type { SenderStore } from "../webhook-sender.ts";
import type { AttemptResult, DueDelivery } from "../webhook.ts";

/** Whether a delivery is signed with a secret, as a receiver checks it. */
const isSigned = (secret: string, { headers, body }: ReceivedDelivery): boolean => {
  const content = `${textOf(headers["webhook-id"])}.${textOf(headers["webhook-timestamp"])}.${body}`;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(content).digest("base64");
  return textOf(headers["webhook-signature"]).split(" ").includes(`v1,${expected}`);
};

test("a private address is refused, with how the operator can allow it", async () => {
  const server = await runServer();
  const body = { name: "h", url: "http://127.0.0.1:9/hook" };
  expect(await call(server, "POST /ui/webhooks", { body })).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(/^url: .*--webhook-host 127\.0\.0\.1:9/) as string },
  });
  const secure = { name: "h", url: "https://192.168.1.1/x" };
  expect((await call(server, "POST /ui/webhooks", { body: secure })).status).toBe(422);
});

test("a test is signed with the secret, which is shown once and stored in no readable form", async () => {
  const receiver = await receiveWebhooks();
  const dataDir = await temporaryFolder();
  const server = await runOwnServer({ dataDir, webhookHosts: [receiver.host] });
  const created = await call(server, "POST /ui/webhooks", {
    body: { name: "h", url: receiver.url },
  });
  const secret = textOf(created.json["secret"]);
  const id = textOf(created.json["id"]);
  expect(await call(server, `POST /ui/webhooks/${id}/test`)).toMatchObject({
    status: 200,
    json: { status: 204, error: null },
  });
  expect(receiver.received).toHaveLength(1);
  expect(receiver.received.every((delivery) => isSigned(secret, delivery))).toBe(true);
  expect(receiver.received.some((delivery) => isSigned("whsec_AAAA", delivery))).toBe(false);
  expect((await call(server, "GET /ui/webhooks")).text).not.toContain("whsec");
  await server.close();
  expect(readFileSync(join(dataDir, "millrace.db")).includes(secret.slice(6))).toBe(false);
  expect(statSync(join(dataDir, "token.key")).mode & 0o777).toBe(0o600);
});

test("a test reports a redirect inwards and a refusal, and follows nothing", async () => {
  const receiver = await receiveWebhooks((index) => (index === 0 ? 302 : 500));
  const server = await runOwnServer({ webhookHosts: [receiver.host] });
  const created = await call(server, "POST /ui/webhooks", {
    body: { name: "h", url: receiver.url },
  });
  const target = `POST /ui/webhooks/${textOf(created.json["id"])}/test`;
  expect((await call(server, target)).json).toMatchObject({
    status: 302,
    error: expect.stringContaining("redirects (302) to http://127.0.0.1:1.") as string,
  });
  expect((await call(server, target)).json).toEqual({
    status: 500,
    error: "The receiver responded with status 500.",
  });
});

test("malformed bodies, states and ids are refused", async () => {
  const server = await runServer();
  for (const body of [{}, { name: "", url: "https://e.com" }, { name: "x", url: "nonsense" }]) {
    expect((await call(server, "POST /ui/webhooks", { body })).status).toBe(422);
  }
  const unknown = `/ui/webhooks/${randomUUID()}`;
  expect((await call(server, `GET ${unknown}/deliveries?state=lost`)).status).toBe(422);
  expect((await call(server, `GET ${unknown}/deliveries`)).status).toBe(404);
  expect((await call(server, "DELETE /ui/webhooks/x")).status).toBe(422);
});

const expectSoon = (read: () => unknown) => expect.poll(read, { timeout: 20_000, interval: 10 });

/** A sender whose store is a list of due deliveries, and which repeats at once. */
function createSender(host: string, deliveries: readonly DueDelivery[], retryDelaysMs = [1, 1]) {
  const results: AttemptResult[] = [];
  const open = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  const store: SenderStore = {
    read: {
      webhooks: {
        listDue: async () => ({ due: [...open.values()], nextMicros: null }),
        readTarget: async () => ({ url: "", secrets: undefined }),
      },
    },
    write: {
      webhooks: {
        record: async (recorded) => {
          for (const result of recorded) {
            results.push(result);
            const delivery = open.get(result.id);
            open.delete(result.id);
            if (delivery !== undefined && result.nextMicros !== null) {
              open.set(result.id, { ...delivery, attempts: delivery.attempts + 1 });
            }
          }
        },
      },
    },
  };
  const outbound = new OutboundClient({ allowedHosts: [parseAllowedHost(host)], flag: "--f" });
  const sender = new WebhookSender(store, outbound, { retryDelaysMs, busyMs: 5, failureMs: 5 });
  return { sender, results, outbound };
}

const due = (
  url: string,
  secrets: readonly string[] | undefined = ["whsec_AAAA"],
): DueDelivery => ({
  tenantId: "t",
  id: randomUUID(),
  webhookId: "w",
  url,
  secrets,
  event: "test",
  body: "{}",
  attempts: 0,
});

test("a delivery that fails is repeated with the same id until it is accepted", async () => {
  const receiver = await receiveWebhooks((index) => (index < 2 ? 503 : 200));
  const delivery = due(receiver.url);
  const { sender, results } = createSender(receiver.host, [delivery]);
  sender.start();
  await expectSoon(() => results.length).toBe(3);
  await sender.close();
  expect(results.map(({ status, error }) => [status, error === null])).toEqual([
    [503, false],
    [503, false],
    [200, true],
  ]);
  expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual(
    Array.from({ length: 3 }, () => delivery.id),
  );
});

test("after the last attempt a delivery is not due again", async () => {
  const receiver = await receiveWebhooks(() => 500);
  const { sender, results } = createSender(receiver.host, [due(receiver.url)], [1]);
  sender.start();
  await expectSoon(() => results.length).toBe(2);
  await sender.close();
  expect(results.map(({ nextMicros }) => nextMicros === null)).toEqual([false, true]);
});

test("a lost key and an address that is not allowed any more are recorded as the reason", async () => {
  const receiver = await receiveWebhooks();
  const { sender, results } = createSender(
    "127.0.0.1:1",
    [{ ...due(receiver.url), secrets: undefined }, due(receiver.url)],
    [],
  );
  sender.start();
  await expectSoon(() => results.length).toBe(2);
  await sender.close();
  const errors = results.map(({ error }) => String(error)).toSorted((a, b) => (a < b ? -1 : 1));
  expect(errors[0]).toMatch(/must begin with https/);
  expect(errors[1]).toMatch(/token\.key/);
  expect(receiver.received).toEqual([]);
});

test("an attempt that closing interrupts is not counted", async () => {
  const receiver = await receiveWebhooks();
  const { sender, results, outbound } = createSender(receiver.host, [due(receiver.url)]);
  outbound.close();
  sender.start();
  await sender.close();
  expect(results).toEqual([]);
});

test("a changed secret is shown once, and both sign what is sent until the old one ends", async () => {
  const receiver = await receiveWebhooks();
  const server = await runOwnServer({ webhookHosts: [receiver.host] });
  const created = await call(server, "POST /ui/webhooks", {
    body: { name: "h", url: receiver.url },
  });
  const path = `/ui/webhooks/${textOf(created.json["id"])}`;
  const first = textOf(created.json["secret"]);
  const changeSecret = async (hours: number) =>
    call(server, `POST ${path}/secret`, { body: { overlap_hours: hours } });
  const changed = await changeSecret(24);
  const second = textOf(changed.json["secret"]);
  const untilMs = Date.parse(textOf(changed.json["previous_secret_until"]));
  expect(untilMs - Date.now()).toBeGreaterThan(23 * 3_600_000);
  expect(untilMs - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
  const listed = await call(server, "GET /ui/webhooks");
  expect(listed.text).not.toContain("whsec");
  await call(server, `POST ${path}/test`);
  const third = textOf((await changeSecret(0)).json["secret"]);
  await call(server, `POST ${path}/test`);
  expect(
    receiver.received.map((delivery) =>
      [first, second, third].map((secret) => isSigned(secret, delivery)),
    ),
  ).toEqual([
    [true, true, false],
    [false, false, true],
  ]);
  expect((await changeSecret(169)).status).toBe(422);
  expect((await changeSecret(0.5)).status).toBe(422);
});
