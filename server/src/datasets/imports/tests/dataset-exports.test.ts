import { expect, test } from "vitest";
import { toFineTuning } from "../fine-tuning.ts";
import { DatasetFixture, textOf } from "../../../../tests/support/dataset-fixture.ts";
import { containing } from "../../../../tests/support/matchers.ts";

const linesOf = (text: string): unknown[] =>
  text
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));

const tune = (inputs: object, outputs: object | null): unknown =>
  JSON.parse(
    toFineTuning({
      inputs: JSON.stringify(inputs),
      outputs: outputs === null ? null : JSON.stringify(outputs),
    }),
  );

test("messages of every supported form are converted for fine-tuning, including tool calls", () => {
  const calls = [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }];
  const expected = [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
    { role: "assistant", content: null, tool_calls: calls },
    { role: "tool", content: "42", tool_call_id: "c1" },
    { role: "assistant", content: "done" },
  ];
  const lc = (name: string, kwargs: object) => ({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", name],
    kwargs,
  });
  const shapes = [
    [...expected.slice(0, 4), ...expected.slice(4)],
    [
      { type: "system", data: { content: "be brief" } },
      { type: "human", data: { content: "hi" } },
      { type: "ai", data: { content: "", additional_kwargs: { tool_calls: calls } } },
      { type: "tool", data: { content: "42", tool_call_id: "c1" } },
      { type: "ai", data: { content: "done" } },
    ],
    [
      lc("SystemMessage", { content: "be brief" }),
      lc("HumanMessage", { content: "hi" }),
      lc("AIMessage", { content: "", tool_calls: [{ id: "c1", name: "f", args: {} }] }),
      lc("ToolMessage", { content: "42", tool_call_id: "c1" }),
      lc("AIMessageChunk", { content: "done" }),
    ],
  ];
  for (const messages of shapes) {
    const line = tune({ input: messages.slice(0, 4) }, { output: messages[4] });
    expect(line).toEqual({ messages: expected });
    expect(tune({ messages: messages.slice(0, 4) }, { messages: messages.slice(4) })).toEqual(line);
  }
});

test("strings become a question and an answer, tools are included, and other examples are rejected", () => {
  const messages = [
    { role: "user", content: "q" },
    { role: "assistant", content: "a" },
  ];
  expect(tune({ input: "q" }, { output: "a" })).toEqual({ messages });
  expect(tune({ question: "q", other: 1 }, { anything: "a" })).toEqual({ messages });
  const tools = [{ type: "function", function: { name: "f" } }];
  expect(tune({ messages: messages.slice(0, 1), tools }, { output: "a" })).toEqual({
    messages,
    tools,
  });
  expect(() => tune({ input: "q" }, null)).toThrow("it has no outputs");
  expect(() => tune({ a: 1, b: 2 }, { output: "a" })).toThrow("the inputs contain neither");
  expect(() => tune({ input: "q" }, { output: { role: "alien", content: "x" } })).toThrow(
    "the outputs contain neither",
  );
  expect(() => tune({ input: [{ role: "user" }] }, { output: "a" })).toThrow("no content");
});

test("exports contain a whole version in the order of creation, over many pages", async () => {
  const fixture = await DatasetFixture.open();
  const count = 1_203;
  await fixture.addMany(
    Array.from({ length: count }, (_, n) => ({
      inputs: { input: `q${n}` },
      outputs: { output: "a" },
    })),
  );
  const version = (await fixture.versions()).at(-1) ?? "";
  const [first] = await fixture.listOf("id", { limit: "1" });
  await fixture.call(`PATCH /examples/${textOf(first)}`, {
    body: { inputs: { input: "changed" } },
  });
  const path = `/datasets/${fixture.id}`;
  const tuned = await fixture.call(`GET ${path}/openai_ft`);
  expect(tuned.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
  const questions = linesOf(tuned.text).map(
    (line) => (line as { messages: { content: string }[] }).messages[0]?.content,
  );
  expect(questions).toEqual([
    "changed",
    ...Array.from({ length: count - 1 }, (_, n) => `q${n + 1}`),
  ]);
  const lines = linesOf((await fixture.call(`GET ${path}/jsonl?as_of=${version}`)).text);
  expect(lines).toHaveLength(count);
  expect(lines[0]).toMatchObject({
    id: first,
    inputs: { input: "q0" },
    outputs: { output: "a" },
    metadata: { dataset_split: ["base"] },
  });
  const csv = (await fixture.call(`GET ${path}/csv`)).text.split("\r\n");
  expect(csv.slice(0, 3)).toEqual(["input,output", "changed,a", "q1,a"]);
  expect(csv).toHaveLength(count + 2);
});

test("an example that can't be converted is named in the error, before anything is sent", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.add({ inputs: { input: "q" }, outputs: { output: "a" } });
  const id = await fixture.add({ inputs: { input: "q" } });
  expect(await fixture.call(`GET /datasets/${fixture.id}/openai_ft`)).toMatchObject({
    status: 422,
    json: { detail: containing(id) },
  });
});

test("CSV is quoted where needed, contains other values as JSON, and distinguishes equal names", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.add({ inputs: { a: 'x "y",\nz', b: { c: [1] } }, outputs: { a: true } });
  await fixture.add({ inputs: { b: null, d: 1 } });
  expect((await fixture.call(`GET /datasets/${fixture.id}/csv`)).text).toBe(
    ["a,b,d,outputs.a", '"x ""y"",\nz","{""c"":[1]}",,true', ",,1,", ""].join("\r\n"),
  );
  const empty = await DatasetFixture.open({ name: "empty" }, fixture.server);
  expect((await fixture.call(`GET /datasets/${empty.id}/jsonl`)).text).toBe("");
});

test("examples with too many different members can't be exported as CSV, but as JSON Lines", async () => {
  const fixture = await DatasetFixture.open();
  await fixture.addMany(
    Array.from({ length: 60 }, (_, row) => ({
      inputs: Object.fromEntries(Array.from({ length: 100 }, (_one, at) => [`${row}.${at}`, 1])),
    })),
  );
  expect((await fixture.call(`GET /datasets/${fixture.id}/csv`)).status).toBe(422);
  expect((await fixture.call(`GET /datasets/${fixture.id}/jsonl`)).text.split("\n")).toHaveLength(
    61,
  );
});

test("a CSV export contains no formula, and uploading it creates the same examples", async () => {
  const fixture = await DatasetFixture.open();
  const inputs = { "=head": "=cmd|' /C calc'!A0", q: "-5", r: "'@x", s: "plain" };
  await fixture.add({ inputs, outputs: { a: "+1-1" } });
  const { text } = await fixture.call(`GET /datasets/${fixture.id}/csv`);
  for (const cell of text.split(/[\r\n,]+/).filter((one) => one !== "" && one !== "-5")) {
    expect(cell.replace(/^"/, "")).not.toMatch(/^[=+\-@\t]/);
  }
  const form = new FormData();
  form.append("file", new Blob([text], { type: "text/csv" }), "again.csv");
  Object.keys(inputs).forEach((name) => form.append("input_keys", name));
  form.append("output_keys", "a");
  const again = await fixture.call("POST /datasets/upload", { body: form });
  const query = new URLSearchParams({ dataset: textOf(again.json["id"]) });
  const listed = await fixture.call(`GET /examples?${query.toString()}`);
  expect(listed.json).toMatchObject([{ inputs, outputs: { a: "+1-1" } }]);
});
