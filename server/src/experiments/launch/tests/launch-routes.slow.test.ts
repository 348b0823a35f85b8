import { expect, test } from "vitest";
import type { RunningServer } from "@millrace/server";
import { DatasetFixture, itemsOf, textOf } from "../../../../tests/support/dataset-fixture.ts";
import type { Json } from "../../../../tests/support/running-server.ts";
import { createAnswer, sendStream } from "../../../models/tests/fake-endpoint.ts";
import { useModelServer } from "../../../models/tests/shared-model-server.ts";

const openModelScene = useModelServer();

const manifest = {
  lc: 1,
  type: "constructor",
  id: ["langchain", "prompts", "prompt", "PromptTemplate"],
  kwargs: {
    template: "Answer: {question}",
    template_format: "f-string",
    input_variables: ["question"],
  },
};

const target = { name: "first try", prompt: "qa", endpoint: "local", model: "gpt-4o-mini" };

const headersOf = (server: RunningServer) => ({
  origin: server.url,
  "sec-fetch-site": "same-origin",
  ...(server.modelToken === undefined ? {} : { "x-model-token": server.modelToken }),
});

/** The text of the last message of a call. */
const readPrompt = ({ messages = [] }: { readonly messages?: readonly unknown[] }): string =>
  textOf((messages.at(-1) as Json)["content"]);

/** A dataset of questions, a prompt, and an endpoint that answers what `answer` returns. */
async function makeScene(
  answer: (prompt: string) => string | undefined,
  { questions = ["a", "b", "c"] }: { readonly questions?: readonly string[] } = {},
) {
  const { server, endpoint } = await openModelScene((response, { body }) => {
    const text = answer(readPrompt(body));
    if (text === undefined) {
      response.writeHead(500, { "content-type": "application/json" });
      response.end('{"error":{"message":"overloaded"}}');
    } else {
      sendStream(response, createAnswer(text));
    }
  });
  const fixture = await DatasetFixture.open({}, server);
  await fixture.addMany(
    questions.map((question) => ({ inputs: { question }, outputs: { answer: `${question}!` } })),
  );
  await fixture.call("POST /repos", { body: { repo_handle: "qa", is_public: false } });
  await fixture.call("POST /commits/-/qa", { body: { manifest } });
  const body = {
    dataset_id: fixture.id,
    repetitions: 1,
    concurrency: 2,
    mapping: {},
    scorers: [{ scorer: "exactMatch", options: { key: "right" } }],
    judges: [],
    targets: [target],
  };
  const start = (changes: object = {}, headers = headersOf(server)) =>
    fixture.call("POST /ui/experiments/start", { headers, body: { ...body, ...changes } });
  const readJobs = async () => itemsOf((await fixture.call("GET /ui/jobs")).json["jobs"] as Json);
  const waitForJobs = async (state = "succeeded") => {
    await expect
      .poll(async () => (await readJobs()).map((job) => job["state"]), { timeout: 15_000 })
      .toSatisfy(
        (states: readonly unknown[]) => states.length > 0 && states.every((one) => one === state),
      );
    return readJobs();
  };
  const compare = async (ids: readonly unknown[]) =>
    (
      await fixture.call(`POST /ui/datasets/${fixture.id}/comparison`, {
        body: { experiment_ids: ids, order: "run" },
      })
    ).json;
  return { endpoint, server, fixture, body, start, readJobs, waitForJobs, compare };
}

const experimentIdsOf = (json: Json): readonly string[] =>
  itemsOf(json["experiments"] as Json).map((one) => textOf(one["experiment_id"]));

const answerQuestion = (prompt: string): string => `${prompt.replace("Answer: ", "")}!`;

test("an experiment calls the model for each row, and is compared like one of the SDK", async () => {
  const scene = await makeScene((prompt) =>
    prompt.endsWith("b") ? "wrong" : answerQuestion(prompt),
  );
  const started = await scene.start({ repetitions: 2 });
  expect(started.status).toBe(200);
  const [id = ""] = experimentIdsOf(started.json);
  const [job] = await scene.waitForJobs();
  expect(job).toMatchObject({
    kind: "experiments.run",
    progress: { done: 6, total: 6, figures: { input_tokens: 120, output_tokens: 60 } },
    result: { experiment_id: id, dataset_id: scene.fixture.id, summary: "6 rows" },
  });
  expect(scene.endpoint.calls.map(({ body }) => readPrompt(body)).toSorted()).toEqual(
    ["a", "a", "b", "b", "c", "c"].map((question) => `Answer: ${question}`),
  );
  const compared = await scene.compare([id]);
  expect(compared).toMatchObject({
    total: 3,
    experiments: [{ id, example_count: 3, run_count: 6, error_count: 0 }],
    keys: [{ key: "right", experiments: { [id]: { mean: 2 / 3, count: 3 } } }],
  });
  const [row] = itemsOf(compared["rows"] as Json);
  expect(row?.["runs"]?.[id]).toMatchObject([
    { tokens: 30, scores: { right: 1 } },
    { tokens: 30, scores: { right: 1 } },
  ]);
  const { json: project } = await scene.fixture.call(`GET /sessions/${id}`);
  expect(project).toMatchObject({
    name: "first try",
    reference_dataset_id: scene.fixture.id,
    extra: {
      metadata: {
        prompt: expect.stringMatching(/^qa:[\da-f]{64}$/) as unknown,
        model: "gpt-4o-mini",
        num_repetitions: 2,
      },
    },
  });
  expect(project["end_time"]).not.toBeNull();
});

const node = (name: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain", "schema", name],
  kwargs,
});

/** A prompt that was saved with the schema of its answer and with a model, its settings and tools. */
const savedPrompt = (settings: object, tools: unknown = [tool]) =>
  node("RunnableSequence", {
    first: node("StructuredPrompt", {
      messages: [
        node("HumanMessagePromptTemplate", {
          prompt: node("PromptTemplate", {
            template: "Answer: {question}",
            template_format: "f-string",
            input_variables: ["question"],
          }),
        }),
      ],
      input_variables: ["question"],
      schema_: answerSchema,
    }),
    last: node("RunnableBinding", {
      bound: node("ChatOpenAI", {
        model: "saved-model",
        openai_api_key: { lc: 1, type: "secret", id: ["OPENAI_API_KEY"] },
        ...settings,
      }),
      kwargs: { tools },
    }),
  });

const answerSchema = {
  title: "reply",
  type: "object",
  properties: { text: { type: "string" } },
};
const tool = {
  type: "function",
  function: {
    name: "look_up",
    description: "Looks up",
    parameters: { type: "object", properties: { word: { type: "string" } } },
  },
};

/** Makes a manifest the latest commit of the prompt. */
async function commit(
  { fixture }: Awaited<ReturnType<typeof makeScene>>,
  latest: object,
): Promise<void> {
  const { json } = await fixture.call("GET /commits/-/qa/latest");
  const body = { manifest: latest, parent_commit: json["commit_hash"] };
  expect(await fixture.call("POST /commits/-/qa", { body })).toMatchObject({ status: 201 });
}

test("the endpoint receives the tools, the schema and the settings of the prompt, and the model of the experiment", async () => {
  const scene = await makeScene(answerQuestion, { questions: ["a"] });
  const settings = { temperature: 0.25, max_tokens: 77, top_p: 0.5, seed: 7, stop: ["END"] };
  await commit(scene, savedPrompt(settings));
  const estimated = await scene.fixture.call("POST /ui/experiments/estimate", {
    headers: headersOf(scene.server),
    body: scene.body,
  });
  expect(estimated.json).toMatchObject({
    targets: [
      {
        preview: {
          tools: ["look_up"],
          has_schema: true,
          settings: { temperature: 0.25, maxTokens: 77, topP: 0.5, seed: 7, stop: ["END"] },
        },
      },
    ],
  });
  await scene.start({ scorers: [] });
  await scene.waitForJobs();
  const [first] = scene.endpoint.calls;
  expect(first?.body).toMatchObject({
    model: "gpt-4o-mini",
    messages: [{ role: "user", content: "Answer: a" }],
    temperature: 0.25,
    max_tokens: 77,
    top_p: 0.5,
    seed: 7,
    stop: ["END"],
    tools: [tool],
    response_format: {
      type: "json_schema",
      json_schema: { schema: { type: "object", properties: { text: { type: "string" } } } },
    },
  });
  expect(JSON.stringify(first?.body)).not.toContain("OPENAI_API_KEY");
  // What the experiment sets precedes what was saved.
  await scene.start({ scorers: [], targets: [{ ...target, temperature: 1, max_tokens: 5 }] });
  await scene.waitForJobs();
  expect(scene.endpoint.calls.at(-1)?.body).toMatchObject({
    temperature: 1,
    max_tokens: 5,
    top_p: 0.5,
    tools: [tool],
  });
});

test.each([
  [
    "a tool without a name",
    savedPrompt({}, [{ type: "function", function: {} }]),
    /tool 1 .* no name/,
  ],
  [
    "a setting that is not a number",
    savedPrompt({ temperature: "hot" }),
    /temperature .* is not a number/,
  ],
  ["a stop sequence that is not text", savedPrompt({ stop: [7] }), /stop sequence .* is not text/],
])("%s is an error of each row, and no model is called", async (_, malformed, reason) => {
  const scene = await makeScene(answerQuestion, { questions: ["a"] });
  await commit(scene, malformed);
  await scene.start({ scorers: [] });
  const [job] = await scene.waitForJobs();
  expect(JSON.stringify(job?.["failures"])).toMatch(reason);
  expect(scene.endpoint.calls).toEqual([]);
});

test("the runs of an experiment name their prompt as the SDK and LangSmith do", async () => {
  const scene = await makeScene(answerQuestion, { questions: ["a"] });
  const [id = ""] = experimentIdsOf((await scene.start({ scorers: [] })).json);
  await scene.waitForJobs();
  const { json } = await scene.fixture.call("POST /runs/query", {
    body: { session: [id], limit: 10 },
  });
  const runs = itemsOf(json["runs"] as Json);
  expect(new Set(runs.map((run) => run["run_type"]))).toEqual(new Set(["chain", "llm"]));
  for (const run of runs) {
    expect(run["extra"]).toMatchObject({
      metadata: {
        prompt: expect.stringMatching(/^qa:[\da-f]{64}$/) as unknown,
        prompt_name: "qa",
        lc_hub_owner: "-",
        lc_hub_repo: "qa",
        lc_hub_commit_hash: expect.stringMatching(/^[\da-f]{64}$/) as unknown,
      },
    });
  }
});

test("a judge's call is recorded, and its failure is feedback with an error instead of a score", async () => {
  const judgements: Record<string, string | undefined> = {
    "Rate a!": '{"reasoning":"good","score":0.75}',
    "Rate b!": "I would say 5 of 5",
  };
  const scene = await makeScene((prompt) =>
    prompt.startsWith("Rate") ? judgements[prompt] : answerQuestion(prompt),
  );
  const judge = {
    key: "quality",
    template: "Rate {{output.output}}",
    form: { kind: "score" },
    endpoint: "local",
    model: "gpt-4o-mini",
  };
  const started = await scene.start({ judges: [judge], scorers: [] });
  const [id = ""] = experimentIdsOf(started.json);
  const [job] = await scene.waitForJobs();
  expect(job?.["progress"]).toMatchObject({ done: 3 });
  const compared = await scene.compare([id]);
  expect(compared["keys"]).toMatchObject([
    { key: "quality", experiments: { [id]: { mean: 0.75, count: 1 } } },
  ]);
  const { json: feedback } = await scene.fixture.call("GET /feedback?key=quality");
  const shown = itemsOf(feedback).map((one) => {
    const metadata = one["feedback_source"]?.["metadata"];
    return {
      score: one["score"],
      comment: one["comment"],
      isError: metadata?.["error"] !== undefined,
      hasRun: typeof metadata?.["__run"]?.["run_id"] === "string",
    };
  });
  expect(shown).toHaveLength(3);
  expect(shown).toContainEqual({ score: 0.75, comment: "good", isError: false, hasRun: true });
  for (const comment of [/not a JSON object/, /did not answer: .*overloaded/]) {
    expect(shown).toContainEqual({
      score: null,
      comment: expect.stringMatching(comment) as unknown,
      isError: true,
      hasRun: true,
    });
  }
  const { json: evaluators } = await scene.fixture.call(
    "GET /sessions?name=evaluators&include_stats=true",
  );
  expect(itemsOf(evaluators)).toMatchObject([{ run_count: 3 }]);
});

test("a model that fails is a row with an error, and the others go on", async () => {
  const scene = await makeScene((prompt) =>
    prompt.endsWith("b") ? undefined : answerQuestion(prompt),
  );
  const [id = ""] = experimentIdsOf((await scene.start()).json);
  const [job] = await scene.waitForJobs();
  expect(job).toMatchObject({
    progress: { done: 3 },
    failures: { count: 1, messages: [expect.stringContaining("overloaded") as unknown] },
  });
  const compared = await scene.compare([id]);
  expect(compared["experiments"]).toMatchObject([{ run_count: 3, error_count: 1 }]);
  expect(JSON.stringify(compared)).not.toContain("sk-secret");
});

test("an expression that takes forever is an error of the score, and ends", async () => {
  const scene = await makeScene(() => `${"a".repeat(40)}!`, { questions: ["a"] });
  const [id = ""] = experimentIdsOf(
    (await scene.start({ scorers: [{ scorer: "matchesRegex", options: { pattern: "^(a+)+$" } }] }))
      .json,
  );
  await scene.waitForJobs();
  expect(await scene.compare([id])).toMatchObject({ total: 1, keys: [] });
  const { json } = await scene.fixture.call("GET /feedback?key=matchesRegex");
  expect(itemsOf(json)).toMatchObject([
    { score: null, comment: expect.stringContaining("simpler regular expression") as unknown },
  ]);
}, 30_000);

test("a canceled experiment calls no further models, and keeps its rows", async () => {
  const questions = Array.from({ length: 40 }, (_, index) => `q${index}`);
  let open: () => void = () => undefined;
  const scene = await makeScene(
    (prompt) => {
      open();
      return answerQuestion(prompt);
    },
    { questions },
  );
  const called = new Promise<void>((resolve) => {
    open = resolve;
  });
  await scene.start({ concurrency: 1 });
  await called;
  const [job] = await scene.readJobs();
  await scene.fixture.call(`POST /ui/jobs/${textOf(job?.["id"])}/cancel`);
  await scene.waitForJobs("canceled");
  const calls = scene.endpoint.calls.length;
  expect(calls).toBeLessThan(40);
  await scene.fixture.call(`POST /ui/jobs/${textOf(job?.["id"])}/retry`);
  await scene.waitForJobs();
  // At most the call that the cancellation interrupted is made again.
  expect(scene.endpoint.calls.length).toBeLessThanOrEqual(41);
});

test("an experiment runs the examples of a split in a version, and records both", async () => {
  const scene = await makeScene(answerQuestion, { questions: ["a"] });
  const { fixture } = scene;
  await fixture.addMany([
    { inputs: { question: "b" }, outputs: { answer: "b!" }, split: "hard" },
    { inputs: { question: "c" }, outputs: { answer: "c!" }, split: ["hard", "odd \u202e"] },
  ]);
  const { json: versions } = await fixture.call(`GET /datasets/${fixture.id}/versions`);
  const version = textOf(itemsOf(versions)[0]?.["as_of"]);
  await fixture.call(`PUT /datasets/${fixture.id}/tags`, { body: { as_of: version, tag: "two" } });
  await fixture.addMany([{ inputs: { question: "d" }, outputs: { answer: "d!" }, split: "hard" }]);
  const run = async (changes: object) => {
    const before = scene.endpoint.calls.length;
    const { json: estimate } = await fixture.call("POST /ui/experiments/estimate", {
      body: { ...scene.body, ...changes },
    });
    const started = await scene.start(changes);
    expect(started.status).toBe(200);
    await scene.waitForJobs();
    const { json } = await fixture.call(`GET /sessions/${experimentIdsOf(started.json)[0]}`);
    const questions = scene.endpoint.calls
      .slice(before)
      .map(({ body }) => readPrompt(body).replace("Answer: ", ""))
      .toSorted();
    expect((estimate["targets"] as Json)[0]?.["rows"]).toBe(questions.length);
    return { questions, metadata: json["extra"]?.["metadata"] };
  };
  expect(await run({ splits: ["hard"] })).toMatchObject({
    questions: ["b", "c", "d"],
    metadata: { dataset_splits: ["hard"] },
  });
  expect(await run({ splits: ["hard"], as_of: "two" })).toMatchObject({
    questions: ["b", "c"],
    metadata: {
      dataset_splits: ["hard"],
      dataset_version: version,
      dataset_version_tag: "two",
    },
  });
  const byTime = await run({ splits: ["odd \u202e", "base"], as_of: version });
  expect(byTime.questions).toEqual(["a", "c"]);
  // The recorded time leads to the same version.
  expect(byTime.metadata).toMatchObject({ dataset_version: version });
  expect((await run({ as_of: "latest" })).questions).toEqual(["a", "b", "c", "d"]);
}, 90_000);

test("only the page itself may start experiments, and no job of this kind can be created directly", async () => {
  const scene = await makeScene(answerQuestion);
  expect(
    (await scene.start({}, { origin: "https://other.example", "sec-fetch-site": "cross-site" }))
      .status,
  ).toBe(403);
  const headers = { origin: scene.server.url, "sec-fetch-site": "same-origin" };
  expect((await scene.start({}, headers)).status).toBe(403);
  const job = { kind: "experiments.run", parameters: { ...scene.body, target } };
  const direct = await scene.fixture.call("POST /ui/jobs", { body: job });
  expect(direct.status).toBe(422);
  expect(scene.endpoint.calls).toEqual([]);
});

test.each([
  [{ dataset_id: "00000000-0000-4000-8000-000000000009" }, 404, "dataset"],
  [{ targets: [{ ...target, prompt: "other" }] }, 404, ""],
  [{ targets: [{ ...target, endpoint: "elsewhere" }] }, 404, "use one of local"],
  [{ targets: [] }, 422, "targets"],
  [{ splits: ["absent"] }, 422, 'no examples in the split \\"absent\\"'],
  [{ splits: [] }, 422, "splits"],
  [{ as_of: "absent" }, 404, 'no version of the dataset has the tag \\"absent\\"'],
  [{ as_of: "2001-01-01" }, 404, "no version at or before 2001-01-01"],
  [{ repetitions: 11 }, 422, "repetitions"],
  [{ scorers: [{ scorer: "unknown" }] }, 422, "no scorer"],
  [{ scorers: [{ scorer: "exactMatch" }, { scorer: "exactMatch" }] }, 422, "another key"],
])("%o is rejected with %i", async (changes, status, detail) => {
  const scene = await makeScene(answerQuestion);
  for (const path of ["start", "estimate"]) {
    const response = await scene.fixture.call(`POST /ui/experiments/${path}`, {
      headers: headersOf(scene.server),
      body: { ...scene.body, ...changes },
    });
    expect(response.status).toBe(status);
    expect(response.text).toContain(detail);
  }
  expect(await scene.readJobs()).toEqual([]);
});

test("an estimate contains the tokens and the cost of the judges", async () => {
  const scene = await makeScene(answerQuestion);
  await scene.fixture.call("PUT /ui/prices", {
    body: {
      prices: [
        { model: "gpt-4o-mini", provider: "local", prices: { input: 1, output: 2 } },
        { model: "referee", provider: "local", prices: { input: 1, output: 2 } },
      ],
    },
  });
  const judge = {
    key: "rated",
    template: "Rate {{output}}",
    form: { kind: "score" },
    endpoint: "local",
    model: "referee",
  };
  const estimate = async (judges: readonly object[]) => {
    const { json } = await scene.fixture.call("POST /ui/experiments/estimate", {
      body: { ...scene.body, judges },
    });
    const [first] = itemsOf(json["targets"] as Json);
    const readRange = (name: string) => {
      const { low, high } = first?.[name] ?? {};
      return { low: Number(low), high: Number(high) };
    };
    return {
      input: readRange("input_tokens"),
      output: readRange("output_tokens"),
      cost: readRange("cost"),
    };
  };
  const without = await estimate([]);
  const judged = await estimate([judge]);
  // Each of the three answers has 50 to 1,000 tokens, and each judgement 30 to 300.
  expect(without.output).toEqual({ low: 3 * 50, high: 3 * 1_000 });
  expect(judged.output).toEqual({ low: 3 * (50 + 30), high: 3 * (1_000 + 300) });
  // The answers are sent to the judge.
  expect(judged.input.low).toBeGreaterThan(without.input.low + 3 * 50);
  expect(judged.input.high).toBeGreaterThan(without.input.high + 3 * 1_000);
  for (const end of ["low", "high"] as const) {
    // The prices are 1 and 2 dollars for a million tokens.
    const dollars = (judged.input[end] * 1 + judged.output[end] * 2) / 1_000_000;
    expect(judged.cost[end]).toBeCloseTo(dollars, 5);
    expect(judged.cost[end]).toBeGreaterThan(without.cost[end]);
  }
});

test("an estimate has the first prompt, and a range of costs that contains the actual cost", async () => {
  const scene = await makeScene(answerQuestion);
  const estimate = async () =>
    (await scene.fixture.call("POST /ui/experiments/estimate", { body: scene.body })).json;
  const priced = await scene.fixture.call("PUT /ui/prices", {
    body: {
      prices: [{ model: "gpt-4o-mini", provider: "local", prices: { input: 1, output: 2 } }],
    },
  });
  expect(priced.status).toBe(200);
  const before = await estimate();
  expect(before).toMatchObject({
    is_measured: false,
    targets: [
      {
        rows: 3,
        sampled: 3,
        output_tokens: { low: 150, high: 3_000 },
        failing: 0,
        preview: { messages: [{ role: "user", content: "Answer: a" }] },
      },
    ],
  });
  const cost = (before["targets"] as Json)[0]?.["cost"];
  const [low, high] = [Number(cost?.["low"]), Number(cost?.["high"])];
  await scene.start();
  const [job] = await scene.waitForJobs();
  const actual = Number(job?.["progress"]?.["figures"]?.["cost_usd"]);
  // Three calls of 20 input and 10 output tokens, at 1 and 2 dollars a million.
  expect(actual).toBeCloseTo((3 * (20 * 1 + 10 * 2)) / 1_000_000, 9);
  expect(high).toBeGreaterThan(actual);
  expect(low).toBeGreaterThan(0);
  const after = await estimate();
  // Each answer had ten tokens.
  expect(after).toMatchObject({
    is_measured: true,
    targets: [{ output_tokens: { low: 15, high: 60 } }],
  });
  expect(scene.endpoint.calls).toHaveLength(3);
});
