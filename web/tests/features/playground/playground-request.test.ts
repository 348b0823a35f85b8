import { describe, expect, test } from "vitest";
import {
  findPromptFault,
  promptToState,
  stateToManifest,
} from "../../../src/features/playground/from-prompt.ts";
import {
  createRequest,
  findSettingFault,
  parseSchema,
  parseTools,
} from "../../../src/features/playground/playground-request.ts";
import {
  createMessage,
  createState,
  listVariables,
} from "../../../src/features/playground/playground-state.ts";
import { toPromptContent } from "../../../src/features/prompts/manifest/manifest.ts";

const textOf = (faults: readonly { readonly message: string }[]) =>
  faults.map(({ message }) => message);

describe("the request", () => {
  test("variables are filled by their syntax, and one without a value stays as written", () => {
    const messages = [createMessage("user", "{a} {{b}} {c}")];
    const variables = { a: "1", b: "2" };
    expect(createRequest(createState({ messages, variables }))).toMatchObject({
      messages: [{ role: "user", content: "1 {b} {c}" }],
    });
    expect(createRequest(createState({ messages, variables, format: "mustache" }))).toMatchObject({
      messages: [{ content: "{a} 2 {c}" }],
    });
    expect(createRequest(createState({ messages, variables, format: "none" }))).toMatchObject({
      messages: [{ content: "{a} {{b}} {c}" }],
    });
    expect(listVariables(createState({ messages })).map(({ name }) => name)).toEqual(["a", "c"]);
    expect(listVariables(createState({ messages, format: "none" }))).toEqual([]);
  });

  test("a template that the SDK would refuse is not sent, and the sentence names the message", () => {
    const messages = [createMessage("system", "Be brief."), createMessage("user", '{"a": 1}')];
    expect(createRequest(createState({ messages }))).toMatch(/^Message 2: .*Python's formatting/);
    expect(createRequest(createState({ messages, format: "none" }))).toMatchObject({
      messages: [{ content: "Be brief." }, { content: '{"a": 1}' }],
    });
  });

  test("a message list is replaced by the messages that were entered, in the roles of any library", () => {
    const messages = [createMessage("placeholder", "history"), createMessage("user", "And?")];
    const history = '[{"role":"human","content":"Hi"},{"type":"ai","content":"Yes"},"plain"]';
    expect(createRequest(createState({ messages, variables: { history } }))).toMatchObject({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Yes" },
        { role: "user", content: "plain" },
        { role: "user", content: "And?" },
      ],
    });
    expect(createRequest(createState({ messages }))).toMatchObject({
      messages: [{ content: "And?" }],
    });
  });

  test("settings are sent if they are entered, and refused with their range", () => {
    const settings = { temperature: "0", maxTokens: " 5 ", topP: "", seed: "", stop: "a\n\nb" };
    expect(createRequest(createState({ settings }))).toMatchObject({
      settings: { temperature: 0, maxTokens: 5, stop: ["a", "b"] },
    });
    expect(createRequest(createState({ settings: { ...settings, topP: "2" } }))).toBe(
      "Correct the settings first.",
    );
    expect(findSettingFault("temperature", "hot")).toBe("Enter a number from 0 to 2");
    expect(findSettingFault("maxTokens", "1.5")).toBe("Enter a whole number from 1 to 10,000,000");
    expect(findSettingFault("seed", "x")).toBe("Enter a whole number");
    expect(findSettingFault("temperature", "")).toBeUndefined();
  });
});

describe("tools and schema", () => {
  test("tools of OpenAI's two APIs and of Anthropic become the same", () => {
    const parameters = { type: "object" };
    const forms = [
      { type: "function", function: { name: "t", description: "d", parameters } },
      { type: "function", name: "t", description: "d", parameters },
      { name: "t", description: "d", input_schema: parameters },
    ];
    for (const form of forms) {
      expect(parseTools(JSON.stringify([form]))).toEqual({
        tools: [{ name: "t", description: "d", parameters }],
        faults: [],
      });
    }
    expect(parseTools("")).toEqual({ tools: [], faults: [] });
  });

  test("a fault is marked where it is", () => {
    expect(textOf(parseTools("{}").faults)).toEqual(["the value must be a JSON list of tools"]);
    expect(textOf(parseTools('[{"name":"a"},{"name":"a"}]').faults)).toEqual([
      "there are two tools named a",
    ]);
    const text = '[{"name":"a"}, {"parameters":{}}]';
    expect(parseTools(text).faults).toEqual([
      { from: text.indexOf('{"parameters'), to: text.length - 1, message: "the tool needs a name" },
    ]);
    const broken = parseTools('[{"name": }]').faults;
    expect(broken).toHaveLength(1);
    expect(broken[0]?.from).toBe(10);
    expect(createRequest(createState({ toolsText: "{}" }))).toBe(
      "Tools: the value must be a JSON list of tools.",
    );
    expect(textOf(parseSchema("[]").faults)).toEqual(["the value must be a JSON schema"]);
    expect(parseSchema('{"type":"object"}').schema).toEqual({ type: "object" });
  });
});

describe("prompts", () => {
  const source = (manifest: unknown) => ({
    kind: "prompt" as const,
    owner: "-",
    repo: "p",
    hash: "abc",
    manifest,
  });

  test("a prompt keeps its messages when it is opened and saved", () => {
    const state = createState({
      messages: [
        createMessage("system", "Be {mood}."),
        createMessage("placeholder", "history"),
        createMessage("user", "{question}"),
        createMessage("assistant", "Yes"),
      ],
    });
    const manifest = stateToManifest(state, undefined, "ChatOpenAI");
    const opened = promptToState(source(manifest));
    expect(opened.format).toBe("f-string");
    expect(opened.messages.map(({ role, text }) => [role, text])).toEqual(
      state.messages.map(({ role, text }) => [role, text]),
    );
    expect(stateToManifest(opened, manifest, "ChatOpenAI")).toEqual(manifest);
  });

  test("the model of a prompt stays when its messages are changed, and is offered as the model to call", () => {
    const first = stateToManifest(createState(), undefined, "ChatOpenAI");
    const manifest = {
      lc: 1,
      type: "constructor",
      id: ["langchain", "schema", "runnable", "RunnableSequence"],
      kwargs: { first, last: { lc: 1, id: ["x", "ChatOpenAI"], kwargs: { model: "gpt-4o" } } },
    };
    const opened = promptToState(source(manifest));
    expect(opened.targets[0]?.model).toBe("gpt-4o");
    const changed = stateToManifest(
      { ...opened, messages: [createMessage("user", "New")] },
      manifest,
      "ChatAnthropic",
    );
    expect(changed).toMatchObject({ kwargs: { last: manifest.kwargs.last } });
    expect(JSON.stringify(changed)).toContain("New");
  });

  test("braces of recorded messages do not become variables, and what a prompt can't hold is refused", () => {
    const recorded = createState({ format: "none", messages: [createMessage("user", '{"a": 1}')] });
    const content = toPromptContent(stateToManifest(recorded, undefined, "ChatOpenAI"));
    expect(content?.messages).toEqual([
      { kind: "message", role: "human", parts: [{ kind: "text", text: '{{"a": 1}}' }] },
    ]);
    expect(findPromptFault(recorded)).toBeUndefined();
    const withTool = createState({
      messages: [createMessage("user", "x"), createMessage("tool", "y", { toolCallId: "c" })],
    });
    expect(findPromptFault(withTool)).toMatch(/^Message 2 has a tool call/);
  });

  test("a manifest of an unknown format is shown as it is, and says so", () => {
    const state = promptToState(source({ template: "Answer {question}" }));
    expect(state.messages[0]?.text).toContain("Answer {question}");
    expect(state.format).toBe("none");
    expect(state.notes[0]).toMatch(/unknown format/);
  });
});
