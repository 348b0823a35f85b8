import { load } from "@langchain/core/load";
import { ChatPromptTemplate, StructuredPrompt } from "@langchain/core/prompts";
import { compile } from "millrace/prompts";
import { describe, expect, test } from "vitest";
import {
  findPromptFault,
  hasSavedPrompt,
  promptToState,
  stateToManifest,
} from "../../../src/features/playground/from-prompt.ts";
import { createMessage, createState } from "../../../src/features/playground/playground-state.ts";
import type { PlaygroundState } from "../../../src/features/playground/playground-state.ts";
import { toDiffText, toPromptContent } from "../../../src/features/prompts/manifest/manifest.ts";

const tool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Reads the weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const schema = { title: "answer", type: "object", properties: { text: { type: "string" } } };

const full = createState({
  messages: [createMessage("system", "Be {mood}."), createMessage("user", "{question}")],
  toolsText: JSON.stringify([tool], undefined, 2),
  schemaText: JSON.stringify(schema, undefined, 2),
  settings: { temperature: "0.5", maxTokens: "100", topP: "", seed: "7", stop: "END\nSTOP" },
  targets: [
    { id: "1", endpoint: "local", model: "gpt-5" },
    { id: "2", endpoint: "local", model: "other" },
  ],
});

const open = (manifest: unknown): PlaygroundState =>
  promptToState({ kind: "prompt", owner: "-", repo: "p", hash: "abc", manifest });

const contentOf = ({ messages, toolsText, schemaText, settings, targets }: PlaygroundState) => ({
  messages: messages.map(({ role, text }) => [role, text]),
  tools: toolsText === "" ? [] : (JSON.parse(toolsText) as unknown),
  schema: schemaText === "" ? undefined : (JSON.parse(schemaText) as unknown),
  settings,
  model: targets[0]?.model,
});

const save = (state: PlaygroundState, base?: unknown) =>
  stateToManifest(state, base, "ChatOpenAI") as {
    readonly id: readonly string[];
    readonly kwargs: Readonly<Record<string, unknown>>;
  };

/** What LangSmith's playground and its clients save: a model with a secret, to which tools are bound. */
const createForeign = (kwargs: object, bound: object = {}) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain", "schema", "runnable", "RunnableSequence"],
  kwargs: {
    first: save(createState()),
    last: {
      lc: 1,
      type: "constructor",
      id: ["langchain", "schema", "runnable", "RunnableBinding"],
      kwargs: {
        bound: {
          lc: 1,
          type: "constructor",
          id: ["langchain", "chat_models", "openai", "ChatOpenAI"],
          kwargs: {
            openai_api_key: { lc: 1, type: "secret", id: ["OPENAI_API_KEY"] },
            presence_penalty: 0.1,
            ...kwargs,
          },
        },
        kwargs: { tool_choice: "auto", ...bound },
      },
    },
  },
});

test("the playground has the saved prompt until something other than the models is changed", () => {
  const state = { ...open(save(full)), targets: full.targets };
  expect(hasSavedPrompt(state)).toBe(true);
  expect(hasSavedPrompt({ ...state, targets: [{ id: "3", endpoint: "x", model: "y" }] })).toBe(
    true,
  );
  // The same tools, written in another way.
  expect(hasSavedPrompt({ ...state, toolsText: JSON.stringify([tool]) })).toBe(true);
  const [first, second] = state.messages;
  for (const change of [
    { messages: [{ ...first!, text: "Be {mood}!" }, second!] },
    { messages: [second!] },
    { toolsText: "" },
    { schemaText: "{" },
    { settings: { ...state.settings, temperature: "0.6" } },
  ]) {
    expect({ change, isSaved: hasSavedPrompt({ ...state, ...change }) }).toEqual({
      change,
      isSaved: false,
    });
  }
  expect(hasSavedPrompt(createState())).toBe(false);
  // What the playground can't save is still the saved prompt if nothing was changed.
  const image = { lc: 1, id: ["ImagePromptTemplate"], kwargs: { template: { url: "{u}" } } };
  const human = { lc: 1, id: ["HumanMessagePromptTemplate"], kwargs: { prompt: [image] } };
  const withImage = open({ lc: 1, id: ["ChatPromptTemplate"], kwargs: { messages: [human] } });
  expect(findPromptFault(withImage)).toBeDefined();
  expect(hasSavedPrompt(withImage)).toBe(true);
});

describe("a prompt that is saved with its model", () => {
  test("opens with the same messages, tools, schema, settings and model, and does not change when it is saved again", () => {
    const manifest = save(full);
    const opened = open(manifest);
    expect(contentOf(opened)).toEqual(contentOf(full));
    expect(opened.notes).toEqual([]);
    expect(save(opened, manifest)).toEqual(manifest);
  });

  test("is compiled by the SDK with its schema, tools and settings, and loaded by LangChain", async () => {
    const manifest = save(full);
    const compiled = compile(manifest, { mood: "kind", question: "Why?" });
    expect(compiled).toMatchObject({
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "Why?" },
      ],
      schema: { name: "answer", schema },
      model: {
        model: "gpt-5",
        temperature: 0.5,
        max_tokens: 100,
        tools: [tool],
        stop: ["END", "STOP"],
      },
    });
    const prompt = await load<StructuredPrompt>(JSON.stringify(manifest.kwargs["first"]));
    expect(prompt).toBeInstanceOf(StructuredPrompt);
    expect(prompt.schema).toEqual(schema);
    const withoutSchema = save({ ...open(manifest), schemaText: "" }, manifest);
    const chat = await load<ChatPromptTemplate>(JSON.stringify(withoutSchema.kwargs["first"]));
    expect(chat).toBeInstanceOf(ChatPromptTemplate);
    expect(chat).not.toBeInstanceOf(StructuredPrompt);
  });

  test("of LangSmith opens, and changes only what was changed", () => {
    const foreign = createForeign(
      { model_name: "gpt-4o", max_tokens: 50, temperature: 1 },
      { tools: [tool] },
    );
    const opened = open(foreign);
    expect(contentOf(opened)).toMatchObject({
      tools: [tool],
      model: "gpt-4o",
      settings: { temperature: "1", maxTokens: "50", seed: "" },
    });
    expect(opened.notes).toEqual([
      "The playground does not send these parameters, but keeps them in the prompt: presence_penalty, tool_choice.",
    ]);
    expect(save(opened, foreign)).toEqual(foreign);
    const changed = {
      ...opened,
      toolsText: "",
      settings: { ...opened.settings, maxTokens: "", seed: "3", stop: "END" },
      targets: [{ id: "1", endpoint: "", model: "gpt-5" }],
    };
    expect(save(changed, foreign)).toEqual(
      createForeign({ model_name: "gpt-5", temperature: 1, seed: 3 }, { stop: ["END"] }),
    );
  });

  test("of LangChain for JavaScript opens, with a parser after the model", () => {
    const { kwargs } = createForeign({ modelName: "gpt-4o", maxTokens: 50, topP: 0.5 });
    const manifest = {
      lc: 1,
      type: "constructor",
      id: ["langchain_core", "runnables", "RunnableSequence"],
      kwargs: {
        first: kwargs.first,
        middle: [kwargs.last.kwargs.bound],
        last: { lc: 1, type: "constructor", id: ["x", "JsonOutputParser"], kwargs: {} },
      },
    };
    const opened = open(manifest);
    expect(contentOf(opened)).toMatchObject({
      model: "gpt-4o",
      settings: { maxTokens: "50", topP: "0.5" },
    });
    expect(save(opened, manifest)).toEqual(manifest);
    const saved = save({ ...opened, toolsText: JSON.stringify([tool]) }, manifest);
    expect(saved).toMatchObject({
      kwargs: {
        middle: [{ kwargs: { bound: manifest.kwargs.middle[0], kwargs: { tools: [tool] } } }],
        last: manifest.kwargs.last,
      },
    });
  });

  test("gets another class if another provider's model is chosen, and keeps one that is not known", () => {
    const foreign = createForeign({ model: "gpt-4o" });
    const other = { ...open(foreign), targets: [{ id: "1", endpoint: "a", model: "claude" }] };
    expect(JSON.stringify(stateToManifest(other, foreign, "ChatAnthropic"))).not.toContain(
      "OpenAI",
    );
    const text = JSON.stringify(foreign).replaceAll("ChatOpenAI", "ChatBedrockConverse");
    const bedrock: unknown = JSON.parse(text);
    expect(JSON.stringify(stateToManifest(other, bedrock, "ChatAnthropic"))).toBe(
      text.replace("gpt-4o", "claude"),
    );
  });

  test("has a readable difference in its tools, schema and settings", () => {
    const before = save(full);
    const after = save(
      { ...open(before), toolsText: "", settings: { ...full.settings, seed: "" } },
      before,
    );
    const [beforeText, afterText] = [before, after].map(toDiffText);
    expect(beforeText).toContain(
      "— model\nChatOpenAI gpt-5\ntemperature: 0.5\nmaxTokens: 100\nseed: 7",
    );
    expect(beforeText).toContain("— tool get_weather\n{");
    expect(beforeText).toContain("— schema\n{");
    expect(afterText).not.toContain("get_weather");
    expect(afterText).not.toContain("seed");
    expect(toPromptContent(createForeign({}))?.model?.others).toEqual({
      openai_api_key: "secret OPENAI_API_KEY",
      presence_penalty: 0.1,
      tool_choice: "auto",
    });
  });

  test("is refused with invalid tools, schema or settings, or without a model's name", () => {
    const fault = (changes: Partial<PlaygroundState>) => findPromptFault({ ...full, ...changes });
    expect(fault({})).toBeUndefined();
    expect(fault({ toolsText: "{}" })).toBe("Correct the tools first.");
    expect(fault({ schemaText: "[" })).toBe("Correct the output schema first.");
    expect(fault({ settings: { ...full.settings, topP: "5" } })).toBe(
      "Correct the settings first.",
    );
    expect(fault({ targets: [] })).toContain("Enter a model");
    expect(findPromptFault(createState())).toBeUndefined();
  });
});
