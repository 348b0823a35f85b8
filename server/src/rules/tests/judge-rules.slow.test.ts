import { join } from "node:path";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { expect, test } from "vitest";
import {
  call,
  runOwnServer,
  temporaryFolder,
  textOf,
} from "../../../tests/support/running-server.ts";
import type { Json } from "../../../tests/support/running-server.ts";
import { itemsOf } from "../../../tests/support/dataset-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { createAnswer, sendStream, startEndpoint } from "../../models/tests/fake-endpoint.ts";
import { openDatabase } from "../../storage/sqlite/connection.ts";

const apiKey = "sk-secret-0123456789";
const judge = {
  kind: "judge",
  key: "quality",
  template: "Rate {{inputs.question}} / {{output.answer}}",
  form: { kind: "score" },
  endpoint: "local",
  model: "m-1",
};

const headersOf = (server: RunningServer) => ({
  origin: server.url,
  "sec-fetch-site": "same-origin",
  ...(server.modelToken === undefined ? {} : { "x-model-token": server.modelToken }),
});

const readPrompt = ({ messages = [] }: { readonly messages?: readonly unknown[] }): string =>
  textOf((messages.at(-1) as Json)["content"]);

const waiting = { timeout: 30_000 };

/** A server with a project, and an endpoint that answers as `respond` says. */
async function makeScene(
  respond: Parameters<typeof startEndpoint>[0],
  options: ServerOptions = {},
) {
  const endpoint = await startEndpoint(respond);
  const serve = async () =>
    runOwnServer({ modelEndpoints: [{ name: "local", url: endpoint.url, apiKey }], ...options });
  const server = await serve();
  const { json } = await call(server, "POST /sessions", { body: { name: "p" } });
  const project = textOf(json["id"]);
  return { endpoint, server, project, serve };
}

const createRule = (server: RunningServer, project: string, fields: object = {}) =>
  call(server, "POST /ui/rules", {
    headers: headersOf(server),
    body: {
      session_id: project,
      name: "Judge answers",
      filter: "",
      sampling_rate: 1,
      action: judge,
      ...fields,
    },
  });

const readRule = async (server: RunningServer, project: string): Promise<Json> =>
  itemsOf((await call(server, `GET /ui/rules?session=${project}`)).json)[0] ?? {};

const countsOf = async (server: RunningServer, project: string) => {
  const { matched, applied, failed } = await readRule(server, project);
  return { matched, applied, failed };
};

const createRun = (question: string, fields: object = {}) =>
  wireRun({
    session_name: "p",
    name: "chat",
    inputs: { question },
    outputs: { answer: `${question}!` },
    end_time: Date.now(),
    ...fields,
  });

const send = (server: RunningServer, ...runs: readonly object[]) =>
  call(server, "POST /runs/batch", { body: { post: runs } });

const readFeedback = async (server: RunningServer): Promise<readonly Json[]> =>
  itemsOf((await call(server, "GET /feedback?key=quality")).json);

const good = createAnswer('{"reasoning":"clear","score":0.75}');

test("a judge gives matching runs a score, names its rule, and does not judge its own calls", async () => {
  const { endpoint, server, project } = await makeScene((response) => sendStream(response, good));
  const created = await createRule(server, project);
  expect(created).toMatchObject({ status: 200, json: { action: judge } });
  const run = createRun("a");
  await send(server, run);
  await expect
    .poll(() => countsOf(server, project), waiting)
    .toEqual({ matched: 1, applied: 1, failed: 0 });
  expect(endpoint.calls.map(({ body }) => readPrompt(body))).toEqual(["Rate a / a!"]);
  const [feedback, ...others] = await readFeedback(server);
  expect(others).toEqual([]);
  expect(feedback).toMatchObject({
    run_id: run.id,
    score: 0.75,
    comment: "clear",
    feedback_source: {
      type: "model",
      metadata: {
        rule: { id: created.json["id"], name: "Judge answers" },
        __run: { run_id: expect.any(String) as unknown },
      },
    },
  });
  const { json: evaluators } = await call(server, "GET /sessions?name=evaluators");
  const evaluatorId = textOf(itemsOf(evaluators)[0]?.["id"]);
  // A rule for the project with the calls of judges, which are ended roots, too.
  await createRule(server, evaluatorId, { name: "All" });
  await send(server, createRun("b"), createRun("other", { session_name: "evaluators" }));
  await expect.poll(() => countsOf(server, project), waiting).toMatchObject({ applied: 2 });
  await expect.poll(() => countsOf(server, evaluatorId), waiting).toMatchObject({ applied: 1 });
  await call(
    server,
    `POST /ui/rules/${textOf((await readRule(server, evaluatorId))["id"])}/apply`,
    {
      headers: headersOf(server),
      body: { from: "2026-01-01T00:00:00Z", to: new Date(Date.now() + 60_000).toISOString() },
    },
  );
  await expect.poll(async () => (await readRule(server, evaluatorId))["past"], waiting).toBeNull();
  expect(await countsOf(server, evaluatorId)).toMatchObject({ matched: 1 });
  expect(endpoint.calls).toHaveLength(3);
}, 90_000);

test("a rule says why its judge can't be saved, and only the page with the token may save one", async () => {
  const { server, project, endpoint } = await makeScene((response) => sendStream(response, good));
  const refuse = async (changes: object): Promise<string> => {
    const { status, text } = await createRule(server, project, {
      action: { ...judge, ...changes },
    });
    expect(status).toBe(422);
    return text;
  };
  expect(await refuse({ endpoint: "other" })).toContain(
    'no model endpoint \\"other\\": use one of local',
  );
  expect(await refuse({ template: "{{reference}}" })).toContain("the variables inputs and output");
  expect(await refuse({ template: "{{#inputs}}" })).toContain("action.template");
  expect(await refuse({ key: "" })).toContain("key");
  expect(await refuse({ form: { kind: "categories", categories: ["one"] } })).toContain(
    "categories",
  );
  const without = await call(server, "POST /ui/rules", {
    body: { session_id: project, name: "r", filter: "", sampling_rate: 1, action: judge },
  });
  expect(without.status).toBe(403);
  const { json } = await createRule(server, project);
  const target = `/ui/rules/${textOf(json["id"])}`;
  const patch = async (body: object, headers?: Readonly<Record<string, string>>) =>
    (await call(server, `PATCH ${target}`, { body, ...(headers && { headers }) })).status;
  expect(await patch({ is_enabled: false })).toBe(200);
  expect(await patch({ is_enabled: true })).toBe(403);
  expect(await patch({ filter: 'name = "x"' })).toBe(403);
  expect(await patch({ is_enabled: true }, headersOf(server))).toBe(200);
  const range = { from: "2026-11-21T00:00:00Z", to: "2026-11-22T00:00:00Z" };
  expect((await call(server, `POST ${target}/apply`, { body: range })).status).toBe(403);
  expect((await call(server, `POST ${target}/retry`, { body: {} })).status).toBe(403);
  expect(endpoint.calls).toEqual([]);
  const plain = await runOwnServer();
  const other = await call(plain, "POST /sessions", { body: { name: "p" } });
  const refused = await createRule(plain, textOf(other.json["id"]));
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("start it with --model-endpoint NAME=URL");
});

test("a judge that fails is shown with the reason and without the key, and tried again", async () => {
  const { server, project } = await makeScene((response, { headers, body }) => {
    if (readPrompt(body).includes("bad form")) {
      sendStream(response, createAnswer("5 of 5"));
    } else {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ error: { message: `no such key: ${String(headers.authorization)}` } }),
      );
    }
  });
  await createRule(server, project);
  const runs = [
    createRun("refused"),
    createRun("bad form"),
    createRun("open", { outputs: undefined }),
  ];
  await send(server, ...runs);
  await expect
    .poll(
      async () => itemsOf((await readRule(server, project))["last_errors"] as Json).length,
      waiting,
    )
    .toBe(3);
  const rule = await readRule(server, project);
  // Without an answer to judge, another attempt can't help.
  expect(rule).toMatchObject({ matched: 3, applied: 0, failed: 1 });
  const errors = new Map(
    itemsOf(rule["last_errors"] as Json).map((error) => [textOf(error["run_id"]), error]),
  );
  const [refused, badForm, open] = runs.map(({ id }) => errors.get(id));
  expect(refused?.["reason"]).toMatch(/the judge did not answer: .*\[key\]/);
  expect(badForm?.["reason"]).toContain('not a JSON object: "5 of 5"');
  expect(open).toMatchObject({
    reason: "the run has no output.answer: the variables are inputs and output",
    next_attempt_at: null,
  });
  for (const error of [refused, badForm]) {
    const delayMs =
      Date.parse(textOf(error?.["next_attempt_at"])) - Date.parse(textOf(error?.["at"]));
    expect(delayMs).toBeGreaterThan(0);
  }
  expect(await readFeedback(server)).toEqual([]);
  expect(JSON.stringify(rule)).not.toContain("sk-secret");
  // The failed calls cost money, so they are recorded.
  const { json: calls } = await call(server, "GET /sessions?name=evaluators&include_stats=true");
  expect(Number(itemsOf(calls)[0]?.["run_count"])).toBeGreaterThanOrEqual(2);
  expect(JSON.stringify(calls)).not.toContain("sk-secret");
}, 60_000);

test("a judge that drips keeps neither other rules nor the end of the server waiting", async () => {
  let isDripping = false;
  const { server, project } = await makeScene((response) => {
    isDripping = true;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(() => response.write(": wait\n\n"), 20);
    response.once("close", () => clearInterval(timer));
  });
  await createRule(server, project);
  await send(server, createRun("a"));
  await expect.poll(() => isDripping, waiting).toBe(true);
  const { json: queue } = await call(server, "POST /annotation-queues", { body: { name: "q" } });
  const { json: other } = await call(server, "POST /sessions", { body: { name: "other" } });
  const otherId = textOf(other["id"]);
  await createRule(server, otherId, { action: { kind: "queue", queue_id: queue["id"] } });
  await send(server, createRun("b", { session_name: "other" }));
  await expect.poll(() => countsOf(server, otherId), waiting).toMatchObject({ applied: 1 });
  expect(await countsOf(server, project)).toEqual({ matched: 1, applied: 0, failed: 0 });
  await server.close();
}, 60_000);

test("a tenant over its rate waits, and over its budget sees that as the reason", async () => {
  const { endpoint, server, project } = await makeScene((response) => sendStream(response, good), {
    modelRate: 2,
    modelBudget: 0.03,
  });
  await call(server, "PUT /ui/prices", {
    body: { prices: [{ model: "m-1", provider: "local", prices: { input: 1, output: 10_000 } }] },
  });
  await createRule(server, project, { action: { ...judge, max_tokens: 2 } });
  await send(server, createRun("a"));
  // Ten tokens of output were answered, although two were allowed: they cost 10 cents.
  await expect.poll(() => countsOf(server, project), waiting).toMatchObject({ applied: 1 });
  await send(server, createRun("b"));
  await expect
    .poll(async () => itemsOf((await readRule(server, project))["last_errors"] as Json), waiting)
    .toMatchObject([
      {
        reason: expect.stringContaining("the daily budget of $0.03 is not enough") as unknown,
        next_attempt_at: expect.any(String) as unknown,
      },
    ]);
  await send(server, createRun("c"));
  await expect.poll(() => countsOf(server, project), waiting).toMatchObject({ matched: 3 });
  // The rate of two calls a minute is used up: the third run waits, and has no failure.
  expect(itemsOf((await readRule(server, project))["last_errors"] as Json)).toHaveLength(1);
  expect(endpoint.calls).toHaveLength(1);
}, 60_000);

test("a judgement that was stored before its record is not made again after a restart", async () => {
  const dataDir = await temporaryFolder();
  const { endpoint, server, project, serve } = await makeScene(
    (response) => sendStream(response, good),
    { dataDir },
  );
  await createRule(server, project);
  await send(server, createRun("a"));
  await expect.poll(() => countsOf(server, project), waiting).toMatchObject({ applied: 1 });
  await server.close();
  // As if the server had been killed after it stored the judgement, and before it recorded that.
  const db = openDatabase(join(dataDir, "millrace.db"));
  db.exec(
    "UPDATE rule_runs SET state = 0, attempts = 0, next_us = 1; UPDATE rules SET applied = 0",
  );
  db.close();
  const second = await serve();
  await expect.poll(() => countsOf(second, project), waiting).toMatchObject({ applied: 1 });
  expect(endpoint.calls).toHaveLength(1);
  expect(await readFeedback(second)).toHaveLength(1);
}, 60_000);
