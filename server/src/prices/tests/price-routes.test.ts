import { describe, expect, test } from "vitest";
import { call, runOwnServer, runServer, textOf } from "../../../tests/support/running-server.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

const price = {
  provider: "openai",
  model: "gpt-4o*",
  tier: null,
  from: "2026-01-31",
  prices: { input: 1, output: { base: 10, tiers: [{ start: 1_000, price: 20 }] } },
};

test("prices are set, listed, replaced and removed", async () => {
  const server = await runServer();
  const key = { provider: null, tier: "batch", from: null };
  const other = { ...key, model: "x", prices: { input: 0 } };
  expect(
    await call(server, "PUT /ui/prices", { body: { prices: [{ ...price, provider: "OpenAI" }] } }),
  ).toMatchObject({ status: 200, json: { prices: [price] } });
  await call(server, "PUT /ui/prices", { body: { prices: [other] } });
  expect((await call(server, "GET /ui/prices")).json).toEqual({ prices: [price, other] });
  const removed = await call(server, "POST /ui/prices/remove", { body: { ...key, model: "X" } });
  expect(removed).toMatchObject({ status: 200, json: { removed: 1 } });
  expect((await call(server, "POST /ui/prices/remove", { body: { model: "y" } })).status).toBe(404);
  await call(server, "PUT /ui/prices", { body: { prices: [other], replace: true } });
  expect((await call(server, "GET /ui/prices")).json).toEqual({ prices: [other] });
});

test.each([
  [{ ...price, model: undefined }, /^prices\[0\]\.model is missing: it must be the name/],
  [{ ...price, model: "a\nb" }, /^prices\[0\]\.model must be a text of 1 to 200 printable ASCII/],
  [{ ...price, provider: 7 }, /^prices\[0\]\.provider must be a text/],
  [{ ...price, from: "2026-02-31" }, /^prices\[0\]\.from must be a date such as 2026-01-31/],
  [{ ...price, from: 5 }, /^prices\[0\]\.from must be a date/],
  [{ ...price, prices: {} }, /^prices\[0\]\.prices\.input is missing/],
  [
    { ...price, prices: { input: -1 } },
    /^prices\[0\]\.prices\.input must be a number of US dollars/,
  ],
  [{ ...price, prices: { input: "2" } }, /not "2"$/],
  [{ ...price, prices: { inputs: 2 } }, /unknown member "inputs"; known members are input, output/],
  [
    { ...price, prices: { input: { base: 1 } } },
    /^prices\[0\]\.prices\.input\.tiers must be a list/,
  ],
  [
    { ...price, prices: { input: { base: 1, tiers: [{ start: 0.5, price: 1 }] } } },
    /^prices\[0\]\.prices\.input\.tiers\[0\]\.start must be a number of input tokens, not 0\.5/,
  ],
  [{ ...price, currency: "EUR" }, /unknown member "currency"/],
  [7, /^prices\[0\] must be an object, not 7/],
])("an invalid price is refused with the reason: %#", async (invalid, reason) => {
  const server = await runServer();
  expect(await call(server, "PUT /ui/prices", { body: { prices: [invalid] } })).toMatchObject({
    status: 422,
    json: { detail: expect.stringMatching(reason) as string },
  });
  expect((await call(server, "GET /ui/prices")).json).toEqual({ prices: [] });
});

/** A thread with one trace: a chain with a model call of 2,000 input tokens, 100 of them cached, and 100 output tokens. */
function createTrace() {
  const root = wireRun({ session_name: "p", extra: { metadata: { thread_id: "t" } } });
  const child = wireRun({
    parent: root,
    session_name: "p",
    run_type: "llm",
    extra: { metadata: { ls_model_name: "gpt-4o", ls_provider: "openai", thread_id: "t" } },
    outputs: {
      usage_metadata: {
        input_tokens: 2_000,
        output_tokens: 100,
        input_token_details: { cache_read: 100 },
      },
    },
  });
  return { root, child };
}

describe("costs in responses", () => {
  test("are those of the first run of a server, and what is written beside it is written once", async () => {
    const server = await runOwnServer();
    const { root, child } = createTrace();
    const names = Array.from({ length: 8 }, (_, index) => `beside-${index}`);
    const responses = await Promise.all([
      ...names.map((name) => call(server, "POST /sessions", { body: { name } })),
      call(server, "POST /runs/batch", { body: { post: [root, child] } }),
      ...names.map(() => call(server, "POST /runs", { body: wireRun({ session_name: "others" }) })),
    ]);
    expect(responses.map(({ status }) => status < 300)).toEqual(responses.map(() => true));
    expect((await call(server, `GET /runs/${child.id}`)).json).toMatchObject({
      total_cost: "0.005875",
    });
    const { json } = await call(server, "GET /sessions?include_stats=true");
    const projects = json as unknown as { name: string; run_count: number }[];
    expect(projects.map(({ name }) => name).toSorted()).toEqual([...names, "others", "p"]);
    expect(projects.find(({ name }) => name === "others")?.run_count).toBe(names.length);
  });

  test("are in the run, the project's statistics, the trace and the thread", async () => {
    const server = await runServer();
    const { root, child } = createTrace();
    await call(server, "POST /runs/batch", { body: { post: [root, child] } });
    expect((await call(server, `GET /runs/${child.id}`)).json).toMatchObject({
      total_cost: "0.005875",
      prompt_cost: "0.004875",
      completion_cost: "0.001",
      prompt_cost_details: { cache_read: 0.000125 },
      completion_cost_details: null,
    });
    const { json: ofUi } = await call(server, `GET /ui/trace-runs/${child.id}`);
    expect(ofUi["cost_basis"]).toMatchObject({ source: "library", model: "gpt-4o" });
    const { json: projects } = await call(server, "GET /sessions?name=p&include_stats=true");
    expect(projects).toMatchObject([
      { total_cost: "0.005875", prompt_cost: "0.004875", completion_cost: "0.001" },
    ]);
    const [project] = projects as unknown as { id: string }[];
    const body = { project_id: project?.id };
    const from = { min_start_time: "2020-01-01T00:00:00Z" };
    const query = (path: string, rest: object) =>
      call(server, `POST /api/v2/${path}`, { body: { ...body, ...from, ...rest } });
    expect((await query("traces/query", { selects: ["TOTAL_COST"] })).json).toMatchObject({
      items: [{ trace_aggregates: { total_cost: 0.005_875 } }],
    });
    const details = { selects: ["PROMPT_COST_DETAILS", "TOTAL_COST"], trace_ids: [root.id] };
    expect((await query("runs/query", { ...details, project_ids: [project?.id] })).text).toContain(
      '"prompt_cost_details":{"raw":{"cache_read":0.000125}}',
    );
    expect((await query("threads/query", {})).json).toMatchObject({
      items: [{ thread_id: "t", total_cost: 0.005_875 }],
    });
    const select = ["TOTAL_COST", "PROMPT_COST", "COMPLETION_COST"];
    expect((await query("threads/stats", { select })).json).toEqual({
      total_cost: 0.005_875,
      prompt_cost: 0.004_875,
      completion_cost: 0.001,
    });
    const path = `threads/t/traces?project_id=${project?.id}&selects=TOTAL_COST`;
    expect((await call(server, `GET /api/v2/${path}`)).json).toMatchObject({
      items: [{ total_cost: 0.005_875 }],
    });
    const { json: trace } = await call(server, `GET /ui/traces/${root.id}`);
    expect(Object.values(trace["cost"] as object)).toEqual([0.005_875]);
    expect(Object.values(trace["prompt_cost"] as object)).toEqual([0.004_875]);
  });

  test("are absent where no cost is known", async () => {
    const server = await runServer();
    const root = wireRun({ session_name: "p", extra: { metadata: { thread_id: "t" } } });
    await call(server, "POST /runs/batch", { body: { post: [root] } });
    const { json: projects } = await call(server, "GET /sessions?name=p&include_stats=true");
    expect(projects).toMatchObject([{ total_cost: null }]);
    const [project] = projects as unknown as { id: string }[];
    const body = { project_id: project?.id, min_start_time: "2020-01-01T00:00:00Z" };
    const { json: threads } = await call(server, "POST /api/v2/threads/query", { body });
    expect(threads).toMatchObject({ items: [{ thread_id: "t" }] });
    expect(JSON.stringify(threads)).not.toContain('total_cost"');
  });

  test("follow the price table of the tenant, once it is set and once costs are recomputed", async () => {
    const [server, other] = [await runServer(), await runServer()];
    const { root, child } = createTrace();
    const body = { post: [root, child] };
    const costOf = async (id: string) =>
      textOf((await call(server, `GET /runs/${id}`)).json["total_cost"]);
    await call(server, "POST /runs/batch", { body });
    await call(other, "PUT /ui/prices", {
      body: { prices: [{ model: "gpt-4o", prices: { input: 100, output: 100 } }] },
    });
    await call(server, "PUT /ui/prices", {
      body: { prices: [{ model: "gpt-4o", prices: { input: 1, output: 10 } }] },
    });
    expect(await costOf(child.id)).toBe("0.005875");
    const later = createTrace();
    await call(server, "POST /runs/batch", { body: { post: [later.root, later.child] } });
    expect(await costOf(later.child.id)).toBe("0.003");
    const { json } = await call(server, "POST /ui/prices/recompute", { body: { mode: "resume" } });
    expect(json).toMatchObject({ done: true, examined: 2, changed: 1, unknown_models: {} });
    expect(await costOf(child.id)).toBe("0.003");
  });
});

describe("models and their prices", () => {
  /** Counts until the server has had the time to count all: it counts for a part of a second. */
  const readModels = async (server: { readonly url: string }, query = "") => {
    let json: Readonly<Record<string, unknown>> = {};
    await expect
      .poll(
        async () => {
          ({ json } = await call(server, `GET /ui/prices/models${query}`));
          return json["is_complete"];
        },
        { timeout: 30_000 },
      )
      .toBe(true);
    return json;
  };
  const call1 = (model: string | undefined, extra: object = {}) =>
    wireRun({
      session_name: "p",
      run_type: "llm",
      extra: { metadata: model === undefined ? {} : { ls_model_name: model } },
      outputs: { usage_metadata: { input_tokens: 1_000_000, output_tokens: 0 } },
      ...extra,
    });

  test("are counted by the price that applied, without those of other tenants", async () => {
    const [server, other] = [await runServer(), await runServer()];
    const now = { micros: Date.now() * 1_000 };
    const old = { micros: (Date.now() - 40 * 86_400_000) * 1_000 };
    await call(server, "PUT /ui/prices", {
      body: { prices: [{ model: "mine*", prices: { input: 3, output: 0 } }] },
    });
    const post = [
      call1("mine-1", now),
      call1("mine-2", now),
      call1("gpt-4o", now),
      call1("nobody-knows", now),
      call1("nobody-knows", now),
      call1("nobody-knew", old),
      call1("mine-3", { ...now, outputs: {} }),
      call1(undefined, { ...now, outputs: {} }),
      call1("x", {
        ...now,
        outputs: { usage_metadata: { input_tokens: 1, output_tokens: 1, total_cost: 7 } },
      }),
      wireRun({ ...now, session_name: "p" }),
      call1("nobody-knows", { ...now, session_name: "q" }),
    ];
    await call(server, "POST /runs/batch", { body: { post } });
    await call(other, "POST /runs/batch", { body: { post: [call1("others", now)] } });
    const json = await readModels(server);
    expect(json).toMatchObject({ days: 30, is_complete: true, other_calls: 0 });
    const groups = json["models"] as readonly Record<string, unknown>[];
    expect(
      groups.map(({ price: source, model, calls, cost }) => [source, model, calls, cost]),
    ).toEqual(
      expect.arrayContaining([
        ["none", "nobody-knows", 3, 0],
        ["table", "mine*", 2, 6],
        ["library", "gpt-4o", 1, 2.5],
        ["no_tokens", "mine-3", 1, 0],
        ["no_tokens", null, 1, 0],
        ["reported", "x", 1, 7],
      ]),
    );
    expect(groups).toHaveLength(6);
    expect(groups[0]).toMatchObject({
      reason: 'No price is known for the model "nobody-knows".',
      latest: expect.stringMatching(/^20/) as string,
    });
    expect(JSON.stringify(await readModels(server, "?days=60"))).toContain("nobody-knew");
    expect((await call(server, "GET /ui/prices/models?days=0")).status).toBe(422);
  });

  test("a project of more runs than one query reads is counted to its end", async () => {
    const server = await runServer();
    const micros = Date.now() * 1_000;
    const post = Array.from({ length: 2_100 }, (_, index) =>
      // Pairs of runs begin at the same time, one of them on the border of the first query.
      call1("gpt-4o", { micros: micros - Math.floor((index + 1) / 2) * 1_000 }),
    );
    await call(server, "POST /runs/batch", { body: { post } });
    expect(await readModels(server)).toMatchObject({
      models: [{ price: "library", model: "gpt-4o", calls: 2_100 }],
    });
  });

  test("public prices can be searched and read in pages", async () => {
    const server = await runServer();
    const read = async (query: string) =>
      (await call(server, `GET /ui/prices/library${query}`)).json as unknown as {
        readonly prices: readonly Record<string, unknown>[];
        readonly total: number;
      };
    const found = await read("?q=GPT-4o");
    expect(found.prices).toContainEqual({
      provider: "openai",
      provider_name: "OpenAI",
      model: "gpt-4o",
      prices: { input: 2.5, cache_read: 1.25, output: 10 },
    });
    expect(found.prices.every(({ model }) => /gpt-4o/i.test(String(model)))).toBe(true);
    const [first, second] = [await read("?limit=1"), await read("?limit=1&offset=1")];
    expect(first.total).toBeGreaterThan(1_000);
    expect(first.prices).toHaveLength(1);
    expect(first.prices).not.toEqual(second.prices);
    expect(await read("?q=no-such-model")).toEqual({ prices: [], total: 0 });
  });
});

test("a job recomputes the costs of all runs, and says which models have no price", async () => {
  const server = await runServer();
  const { root, child } = createTrace();
  const unknown = wireRun({
    session_name: "p",
    run_type: "llm",
    extra: { metadata: { ls_model_name: "my-model" } },
    outputs: { usage_metadata: { input_tokens: 10, output_tokens: 10 } },
  });
  await call(server, "POST /runs/batch", { body: { post: [root, child, unknown] } });
  await call(server, "PUT /ui/prices", {
    body: { prices: [{ model: "gpt-4o", prices: { input: 1, output: 10 } }] },
  });
  const recompute = async () => {
    const created = await call(server, "POST /ui/jobs", {
      body: { kind: "prices.recompute", parameters: {} },
    });
    expect(created).toMatchObject({ status: 200 });
    const path = `GET /ui/jobs/${textOf(created.json["id"])}`;
    await expect
      .poll(async () => (await call(server, path)).json["state"], { timeout: 20_000 })
      .toBe("succeeded");
    return (await call(server, path)).json;
  };
  expect(await recompute()).toMatchObject({
    progress: { done: 2, figures: { percent: 100, changed: 1 } },
    result: {
      summary: "2 model calls examined, 1 cost changed. No price is known for my-model.",
    },
  });
  expect((await call(server, `GET /runs/${child.id}`)).json["total_cost"]).toBe("0.003");
  await call(server, "PUT /ui/prices", {
    body: { prices: [{ model: "my-model", prices: { input: 1, output: 1 } }] },
  });
  expect(await recompute()).toMatchObject({
    result: { summary: "2 model calls examined, 1 cost changed." },
  });
  expect((await call(server, `GET /runs/${unknown.id}`)).json["total_cost"]).toBe("0.00002");
});
