import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  call,
  runOwnServer,
  runServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import { revertToFormat } from "../../../tests/support/store-fixture.ts";
import { receiveWebhooks } from "../../../tests/support/webhook-receiver.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { formatMigrations } from "../../store/schema.ts";

type Server = Parameters<typeof call>[0];

const createProject = async (server: Server): Promise<string> =>
  textOf((await call(server, "POST /sessions", { body: { name: "p" } })).json["id"]);

async function createQueue(server: Server): Promise<string> {
  const { json } = await call(server, "POST /annotation-queues", { body: { name: "q" } });
  return textOf(json["id"]);
}

const ruleBody = (projectId: string, queueId: string, fields = {}) => ({
  session_id: projectId,
  name: "r",
  filter: 'error is not null or name = "x"',
  sampling_rate: 1,
  action: { kind: "queue", queue_id: queueId },
  ...fields,
});

test("a rule is created, changed, disabled and deleted", async () => {
  const server = await runServer();
  const [project, queue] = [await createProject(server), await createQueue(server)];
  const body = ruleBody(project, queue, { filter: 'name = "x" ' });
  const created = await call(server, "POST /ui/rules", { body });
  expect(created).toMatchObject({
    status: 200,
    json: { filter: 'name = "x"', is_enabled: true, matched: 0, past: null, last_errors: [] },
  });
  const target = `/ui/rules/${textOf(created.json["id"])}`;
  const patched = await call(server, `PATCH ${target}`, {
    body: { name: "n", is_enabled: false, sampling_rate: 0.1 },
  });
  expect(patched.json).toEqual({
    ...created.json,
    name: "n",
    is_enabled: false,
    sampling_rate: 0.1,
  });
  expect((await call(server, `GET /ui/rules?session=${project}`)).json).toEqual([patched.json]);
  const range = { from: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z" };
  expect(await call(server, `POST ${target}/apply`, { body: range })).toMatchObject({
    status: 409,
    json: { detail: "The rule is disabled. Enable it before applying it." },
  });
  expect((await call(server, `DELETE ${target}`)).status).toBe(200);
  expect((await call(server, `DELETE ${target}`)).status).toBe(404);
});

test("an invalid filter, rate, action, target or range is refused with the reason", async () => {
  const server = await runServer();
  const [project, queue] = [await createProject(server), await createQueue(server)];
  const refuse = async (fields: object): Promise<string> => {
    const { status, text } = await call(server, "POST /ui/rules", {
      body: ruleBody(project, queue, fields),
    });
    expect(status).toBe(422);
    return text;
  };
  expect(await refuse({ filter: "eq(name" })).toMatch(/filter: /);
  await refuse({ sampling_rate: 0 });
  await refuse({ sampling_rate: 1.5 });
  await refuse({ action: { kind: "shell", command: "rm" } });
  await refuse({ name: "" });
  const targets = [
    [{ kind: "queue", queue_id: randomUUID() }, "annotation queue"],
    [{ kind: "dataset", dataset_id: randomUUID() }, "dataset"],
    [{ kind: "webhook", webhook_id: randomUUID() }, "webhook"],
  ] as const;
  for (const [action, name] of targets) {
    expect(await refuse({ action })).toContain(`action: there is no such ${name}`);
  }
  const created = await call(server, "POST /ui/rules", { body: ruleBody(project, queue) });
  const apply = `POST /ui/rules/${textOf(created.json["id"])}/apply`;
  for (const body of [
    { from: "2026-11-22T00:00:00Z", to: "2026-11-21T00:00:00Z" },
    { from: "2020-11-22T00:00:00Z", to: "2026-11-21T00:00:00Z" },
    { from: "2026-11-22T00:00:00Z" },
  ]) {
    expect((await call(server, apply, { body })).status).toBe(422);
  }
  const absent = ruleBody(randomUUID(), queue);
  expect((await call(server, "POST /ui/rules", { body: absent })).status).toBe(404);
});

test("a running server sends a matching run to a webhook, with a database of the format before", async () => {
  const receiver = await receiveWebhooks();
  const dataDir = await temporaryFolder();
  const options = { dataDir, webhookHosts: [receiver.host] };
  const first = await runOwnServer(options);
  const project = await createProject(first);
  await first.close();
  const db = openDatabase(join(dataDir, "millrace.db"));
  const format = formatMigrations.findIndex((sql) => sql.includes("CREATE TABLE rules"));
  revertToFormat(db, format);
  db.close();

  const server = await runOwnServer(options);
  const hook = await call(server, "POST /ui/webhooks", { body: { name: "h", url: receiver.url } });
  const webhookId = textOf(hook.json["id"]);
  const action = { kind: "webhook", webhook_id: webhookId };
  const rule = await call(server, "POST /ui/rules", {
    body: ruleBody(project, "", { action, filter: 'name = "bad"' }),
  });
  expect(rule.status).toBe(200);
  const runs = ["good", "bad"].map((name) =>
    wireRun({ session_name: "p", name, end_time: Date.now() }),
  );
  await call(server, "POST /runs/batch", { body: { post: runs } });
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(1);
  expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({
    type: "run.matched",
    data: { run: { id: runs[1]?.id, name: "bad" } },
  });
  await expect
    .poll(async () => (await call(server, "GET /ui/webhooks")).json[0]?.["delivered"], {
      timeout: 20_000,
    })
    .toBe(1);
}, 60_000);
