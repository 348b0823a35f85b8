import { load } from "@langchain/core/load";
import { HumanMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder, StructuredPrompt } from "@langchain/core/prompts";
import { Client as LangsmithClient } from "langsmith";
import { Client, currentRun, traceable } from "millrace";
import type { Run } from "millrace";
import { toRunnableConfig } from "millrace/langchain";
import { chatPrompt, compile, toLangChain, toPromptMetadata } from "millrace/prompts";
import { describe, expect, onTestFinished, test } from "vitest";
import { runOwnServer } from "../../../server/tests/support/running-server.ts";

async function clients() {
  const { url } = await runOwnServer();
  const client = new Client({ endpoint: url, logLevel: "silent" });
  const langsmith = new LangsmithClient({ apiUrl: url });
  onTestFinished(async () => void (await client.close()));
  return { client, langsmith };
}

/** The runs that a client recorded, by name. */
async function runsOf(client: Client): Promise<Readonly<Record<string, Run>>> {
  await client.flush();
  const runs = await client.runs.list({ projectNames: ["default"] }).toArray();
  return Object.fromEntries(runs.map((run) => [run.name, run]));
}

const metadataOf = (run: Run | undefined): unknown =>
  (run?.extra as { readonly metadata?: unknown } | undefined)?.metadata;

describe("prompts written by langsmith's client", () => {
  test("are read and compiled", async () => {
    const { client, langsmith } = await clients();
    const prompt = ChatPromptTemplate.fromMessages([
      ["system", "Be {tone}."],
      new MessagesPlaceholder("history"),
      ["human", "{question}"],
    ]);
    await langsmith.pushPrompt("greeting", { object: prompt });
    const served = await client.prompts.get("greeting");
    const variables = { tone: "kind", history: [new HumanMessage("a")], question: "Why?" };
    const expected = await prompt.formatMessages(variables);
    expect(compile(served, variables).messages.map(({ content }) => content)).toEqual(
      expected.map(({ content }) => content),
    );
  });

  test("are read with their schema and format", async () => {
    const { client, langsmith } = await clients();
    const schema = { title: "Answer", type: "object", properties: {} };
    const prompt = StructuredPrompt.fromMessages([["human", "{{#on}}{{q}}{{/on}}"]], {
      schema,
      templateFormat: "mustache",
    } as object);
    await langsmith.pushPrompt("structured", { object: prompt });
    expect(compile(await client.prompts.get("structured"), { on: true, q: "Why?" })).toMatchObject({
      messages: [{ role: "user", content: "Why?" }],
      schema: { name: "Answer", schema },
    });
  });
});

describe("prompts written by chatPrompt", () => {
  test("are pulled by langsmith's client, and LangChain makes of them what compile makes", async () => {
    const { client, langsmith } = await clients();
    const manifest = chatPrompt([
      ["system", "Be {tone}."],
      { placeholder: "history" },
      { placeholder: "more", isOptional: true },
      ["assistant", "Hello"],
      ["developer", "Rules: {tone}"],
      {
        role: "user",
        content: [
          { type: "text", text: "Look at {name}", extra: { cache_control: { type: "ephemeral" } } },
          { type: "text", text: "and {tone}" },
          { type: "image", url: "https://x.test/{name}.png", detail: "low" },
          { type: "other", value: { type: "document", source: { data: "{name}" } } },
        ],
      },
    ]);
    await client.prompts.push("ours", { manifest });
    const pulled = await langsmith.pullPromptCommit("ours", { skipCache: true });
    const prompt = await load<ChatPromptTemplate>(JSON.stringify(pulled.manifest));
    expect(prompt).toBeInstanceOf(ChatPromptTemplate);
    const variables = { tone: "kind", history: [new HumanMessage("a")], name: "this" };
    const expected = await prompt.formatMessages({ ...variables, more: [] });
    const compiled = compile(pulled.manifest as object, variables).messages;
    expect(expected.map((message) => message.getType())).toEqual([
      "system",
      "human",
      "ai",
      "generic",
      "human",
    ]);
    expect(compiled.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "developer",
      "user",
    ]);
    expect(compiled.slice(0, 4).map(({ content }) => content)).toEqual(
      expected.slice(0, 4).map(({ content }) => content),
    );
    expect(expected[4]?.content).toEqual([
      { type: "text", text: "Look at this", cache_control: { type: "ephemeral" } },
      { type: "text", text: "and kind" },
      { type: "image_url", image_url: { url: "https://x.test/this.png", detail: "low" } },
      { type: "document", source: { data: "this" } },
    ]);
    expect(prompt.inputVariables).toEqual(["tone", "history", "more", "name"]);
  });

  test("are structured prompts if they have a schema", async () => {
    const schema = { title: "Answer", type: "object", properties: { a: { type: "string" } } };
    const manifest = chatPrompt([["user", "{{q}}"]], { format: "mustache", schema });
    const prompt = await load<StructuredPrompt>(JSON.stringify(manifest));
    expect(prompt).toBeInstanceOf(StructuredPrompt);
    expect(prompt.schema).toEqual(schema);
    expect((await prompt.formatMessages({ q: "Why?" }))[0]?.content).toBe("Why?");
  });

  test.each<[unknown, object | undefined, RegExp]>([
    [[["critic", "x"]], undefined, /role "critic"/],
    [[["tool", "x"]], undefined, /can't contain messages with the role tool/],
    [[["user", 7]], undefined, /content of a message is a value of type number/],
    [[{ placeholder: "" }], undefined, /needs the name of a variable/],
    ["text", undefined, /takes a list of messages, not "text"/],
    [[], { format: "jinja2" }, /format of chatPrompt must be f-string or mustache, not "jinja2"/],
    [[], { templateFormat: "mustache" }, /no option "templateFormat"/],
  ])("%j with %j is refused", (messages, options, message) => {
    expect(() => chatPrompt(messages as [], options)).toThrow(message);
  });
});

describe("the prompt on the runs that use it", () => {
  test("compile adds name and commit to the metadata of the current run, and of no other", async () => {
    const { client } = await clients();
    const manifest = chatPrompt([["user", "{q}"]]);
    const { commitHash } = await client.prompts.push("greeting", { manifest });
    const answer = traceable(
      async () => {
        const prompt = await client.prompts.get("greeting");
        const { messages } = compile(prompt, { q: "Why?" });
        const metadata = toPromptMetadata(prompt);
        currentRun()
          ?.startChild({ name: "model", runType: "llm", inputs: { messages }, metadata })
          .end();
        currentRun()?.startChild({ name: "tool", runType: "tool" }).end();
      },
      { name: "answer", client },
    );
    await answer();
    const { answer: root, model, tool } = await runsOf(client);
    const recorded = {
      prompt_name: "greeting",
      prompt_commit: commitHash,
      prompt_source: "server",
      lc_hub_owner: "-",
      lc_hub_repo: "greeting",
      lc_hub_commit_hash: commitHash,
    };
    expect(metadataOf(root)).toMatchObject(recorded);
    expect(metadataOf(model)).toMatchObject(recorded);
    expect(JSON.stringify(metadataOf(tool) ?? {})).not.toContain("prompt_name");
    const filter = `and(eq(metadata_key, "prompt_commit"), eq(metadata_value, "${commitHash}"))`;
    const found = await client.runs.list({ projectNames: ["default"], filter }).toArray();
    expect(found.map(({ name }) => name).toSorted()).toEqual(["answer", "model"]);
  });

  test("a fallback is recorded by its name, without a commit", async () => {
    const { client } = await clients();
    const fallback = chatPrompt([["user", "Hi"]]);
    await traceable(async () => compile(await client.prompts.get("absent", { fallback })), {
      name: "answer",
      client,
    })();
    const { answer } = await runsOf(client);
    expect(metadataOf(answer)).toMatchObject({ prompt_name: "absent", prompt_source: "fallback" });
    expect(JSON.stringify(metadataOf(answer))).not.toMatch(/prompt_commit|lc_hub/);
  });

  test("a manifest alone, and a failed compilation, record nothing", async () => {
    const { client } = await clients();
    await client.prompts.push("greeting", { manifest: chatPrompt([["user", "{q}"]]) });
    const prompt = await client.prompts.get("greeting");
    traceable(
      () => {
        compile(prompt.manifest, { q: "Why?" });
        expect(() => compile(prompt)).toThrow("missing variables: q");
      },
      { name: "answer", client },
    )();
    expect(JSON.stringify(metadataOf((await runsOf(client))["answer"]) ?? {})).not.toContain(
      "prompt_",
    );
  });

  test("toLangChain gives LangChain's run of the prompt the same metadata", async () => {
    const { client } = await clients();
    const { commitHash } = await client.prompts.push("greeting", {
      manifest: chatPrompt([["user", "{q}"]]),
    });
    const manifest = toLangChain(await client.prompts.get("greeting"));
    const prompt = await load<ChatPromptTemplate>(JSON.stringify(manifest));
    const run = client.startRun({ name: "root" });
    await prompt.invoke({ q: "Why?" }, toRunnableConfig(run));
    run.end();
    const { ChatPromptTemplate: formatted } = await runsOf(client);
    expect(metadataOf(formatted)).toMatchObject({
      prompt_name: "greeting",
      prompt_commit: commitHash,
      lc_hub_commit_hash: commitHash,
    });
    expect(() => toLangChain({ ...manifest } as never)).toThrow(/takes a prompt that prompts\.get/);
  });
});
