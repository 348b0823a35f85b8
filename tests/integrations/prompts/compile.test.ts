import {
  AIMessage,
  ChatMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import {
  ChatPromptTemplate,
  FewShotPromptTemplate,
  MessagesPlaceholder,
  PromptTemplate,
  StructuredPrompt,
} from "@langchain/core/prompts";
import { ValidationError } from "millrace";
import type { RuntimePrompt } from "millrace";
import { chatPrompt, compile, listVariables } from "millrace/prompts";
import type { CompiledPrompt } from "millrace/prompts";
import { describe, expect, test } from "vitest";

/** The messages of LangChain in the form that `compile` returns, for comparison. */
const rolesAndTexts = (messages: readonly BaseMessage[]) =>
  messages.map((message) => ({
    role: { system: "system", human: "user", ai: "assistant", tool: "tool" }[
      message.getType() as "system" | "human" | "ai" | "tool"
    ],
    content: message.content,
  }));

describe("manifests that LangChain writes", () => {
  test("have the same messages as in LangChain", async () => {
    const prompt = ChatPromptTemplate.fromMessages([
      ["system", "Be {tone}."],
      new SystemMessage("Not a {template}"),
      new MessagesPlaceholder("history"),
      ["placeholder", "{more}"],
      ["ai", "Hello"],
      ["human", "{question} {tone}"],
    ]);
    const variables = {
      tone: "kind",
      history: [new HumanMessage("a"), new AIMessage("b")],
      question: "Why?",
    };
    const expected = rolesAndTexts(await prompt.formatMessages(variables));
    expect(compile(prompt, variables).messages).toEqual(expected);
    const manifest = JSON.parse(JSON.stringify(prompt)) as object;
    expect(compile(manifest, variables).messages).toEqual(expected);
    expect(listVariables(manifest)).toEqual(["tone", "history", "more", "question"]);
  });

  test("a text prompt is a message of the user", () => {
    const prompt = PromptTemplate.fromTemplate("Summarize {text}");
    expect(compile(prompt, { text: "it" }).messages).toEqual([
      { role: "user", content: "Summarize it" },
    ]);
  });

  test("parts are texts, images, and parts of a provider", () => {
    const prompt = ChatPromptTemplate.fromMessages([
      [
        "human",
        [
          { type: "text", text: "Look at {name}", cache_control: { type: "ephemeral" } },
          { type: "image_url", image_url: { url: "https://x.test/{file}", detail: "low" } },
          { type: "image_url", image_url: "{address}" },
          { type: "document", source: { type: "text", data: ["{text}"] } },
          { type: "text", text: "and {name}" },
        ],
      ],
    ]);
    const variables = {
      name: "this",
      file: "a.png",
      address: "data:image/png;base64,AA==",
      text: "t",
    };
    expect(compile(prompt, variables).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look at this", extra: { cache_control: { type: "ephemeral" } } },
          { type: "image", url: "https://x.test/a.png", detail: "low" },
          { type: "image", url: "data:image/png;base64,AA==" },
          {
            type: "other",
            value: { type: "document", source: { type: "text", data: ["t"] } },
          },
          { type: "text", text: "and this" },
        ],
      },
    ]);
  });

  test("a structured prompt has its schema", () => {
    const schema = {
      title: "Answer to all",
      description: "d",
      type: "object",
      properties: { a: { type: "string" } },
    };
    const prompt = StructuredPrompt.fromMessagesAndSchema([["human", "{q}"]], schema);
    expect(compile(prompt, { q: "Why?" })).toEqual({
      messages: [{ role: "user", content: "Why?" }],
      schema: { name: "Answer_to_all", description: "d", schema },
    });
  });

  test("partial variables have values, which the caller can replace", () => {
    const manifest = structuredClone(chatPrompt([["user", "{a} {b}"]])) as {
      kwargs: Record<string, unknown>;
    };
    // LangChain in JavaScript leaves them out; in Python, values that are functions are not serialized.
    const notImplemented = { lc: 1, type: "not_implemented", id: ["builtins", "function"] };
    manifest.kwargs["partial_variables"] = { a: "A", b: notImplemented };
    expect(compile(manifest, { b: "B" }).messages[0]?.content).toBe("A B");
    expect(compile(manifest, { a: "C", b: "B" }).messages[0]?.content).toBe("C B");
    expect(() => compile(manifest)).toThrow("missing variables: b. It uses a, b");
  });

  test("chat prompts inside of chat prompts are part of them", () => {
    const inner = JSON.parse(
      JSON.stringify(ChatPromptTemplate.fromMessages([["system", "Be {tone}"]])),
    ) as object;
    const outer = {
      lc: 1,
      type: "constructor",
      id: ["langchain", "prompts", "chat", "ChatPromptTemplate"],
      kwargs: { messages: [inner, JSON.parse(JSON.stringify(new HumanMessage("Hi")))] },
    };
    expect(compile(outer, { tone: "kind" }).messages).toEqual([
      { role: "system", content: "Be kind" },
      { role: "user", content: "Hi" },
    ]);
  });

  test("a prompt saved with its model has the model's parameters, without secrets", () => {
    const secret = { lc: 1, type: "secret", id: ["OPENAI_API_KEY"] };
    const model = {
      lc: 1,
      type: "constructor",
      id: ["langchain", "chat_models", "openai", "ChatOpenAI"],
      kwargs: { model: "m-1", temperature: 0, openai_api_key: secret },
    };
    const sequence = {
      lc: 1,
      type: "constructor",
      id: ["langchain", "schema", "runnable", "RunnableSequence"],
      kwargs: {
        first: chatPrompt([["user", "{q}"]]),
        last: {
          lc: 1,
          type: "constructor",
          id: ["langchain", "schema", "runnable", "RunnableBinding"],
          kwargs: { bound: model, kwargs: { stop: ["\n"] } },
        },
      },
    };
    expect(compile(sequence, { q: "Why?" })).toEqual({
      messages: [{ role: "user", content: "Why?" }],
      model: { model: "m-1", temperature: 0, stop: ["\n"] },
    });
  });

  test("those that Python writes are read: other paths, limits of placeholders", () => {
    const node = (path: string, name: string, kwargs: object) => ({
      lc: 1,
      type: "constructor",
      id: ["langchain", "prompts", path, name],
      kwargs,
    });
    const manifest = node("chat", "ChatPromptTemplate", {
      input_variables: ["q", "history"],
      messages: [
        node("chat", "MessagesPlaceholder", { variable_name: "history", n_messages: 1 }),
        node("chat", "ChatMessagePromptTemplate", {
          role: "developer",
          prompt: node("prompt", "PromptTemplate", {
            template: "{q}",
            template_format: "f-string",
          }),
        }),
      ],
    });
    expect(compile(manifest, { q: "Why?", history: ["a", "b"] }).messages).toEqual([
      { role: "user", content: "b" },
      { role: "developer", content: "Why?" },
    ]);
  });
});

describe("message placeholders", () => {
  const prompt = chatPrompt([{ placeholder: "history" }, ["user", "Go on"]]);
  const compiled: CompiledPrompt = compile(
    chatPrompt([
      ["system", "s"],
      ["user", "u"],
    ]),
  );
  const call = { id: "c", name: "f", args: { a: 1 } };
  const calls = { toolCalls: [{ id: "c", name: "f", arguments: { a: 1 } }] };

  test.each<[string, unknown, readonly object[]]>([
    ["a text", "Hi", [{ role: "user", content: "Hi" }]],
    ["a message", { role: "assistant", content: "x" }, [{ role: "assistant", content: "x" }]],
    [
      "pairs",
      [
        ["human", "a"],
        ["ai", "b"],
      ],
      [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    ],
    ["one pair", ["human", "a"], [{ role: "user", content: "a" }]],
    [
      "texts",
      ["a", "b"],
      [
        { role: "user", content: "a" },
        { role: "user", content: "b" },
      ],
    ],
    ["nested lists", [[["x"]], []], [{ role: "user", content: "x" }]],
    [
      "a compiled prompt",
      [compiled, "x"],
      [
        { role: "system", content: "s" },
        { role: "user", content: "u" },
        { role: "user", content: "x" },
      ],
    ],
    [
      "messages of LangChain",
      [
        new AIMessage({ content: "", tool_calls: [call] }),
        new ToolMessage({ content: "r", tool_call_id: "c", name: "f" }),
        new ChatMessage("x", "developer"),
      ],
      [
        { role: "assistant", content: "", ...calls },
        { role: "tool", content: "r", toolCallId: "c", name: "f" },
        { role: "developer", content: "x" },
      ],
    ],
    [
      "stored messages of LangChain",
      mapChatMessagesToStoredMessages([
        new HumanMessage("a"),
        new AIMessage("b"),
        new ChatMessage("x", "user"),
      ]),
      [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
        { role: "user", content: "x" },
      ],
    ],
    [
      "serialized messages of LangChain",
      JSON.parse(
        JSON.stringify([
          new HumanMessage("a"),
          new AIMessage({ content: "b", tool_calls: [call] }),
        ]),
      ),
      [
        { role: "user", content: "a" },
        { role: "assistant", content: "b", ...calls },
      ],
    ],
    [
      "messages of OpenAI",
      [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } },
          ],
        },
      ],
      [{ role: "assistant", content: "", ...calls }],
    ],
    [
      "messages that LangChain received from Anthropic",
      new AIMessage({
        content: [
          { type: "text", text: "t" },
          { type: "tool_use", id: "c", name: "f", input: { a: 1 } },
        ],
        tool_calls: [call],
      }),
      [{ role: "assistant", content: [{ type: "text", text: "t" }], ...calls }],
    ],
  ])("take %s", (_name, history, expected) => {
    expect(compile(prompt, { history }).messages).toEqual([
      ...expected,
      { role: "user", content: "Go on" },
    ]);
  });

  test.each<[unknown, RegExp]>([
    [7, /variable "history" must be a list of messages: Expected a message such as/],
    [[{ role: "critic", content: "" }], /role "critic". Use one of system, developer/],
    [[{ content: "x" }], /role undefined/],
    [[{ role: "user", content: 7 }], /content of a message is a value of type number/],
    [[{ role: "user", content: [7] }], /part of a message is a value of type number/],
    [
      [{ role: "assistant", content: "", tool_calls: [{ id: "c" }] }],
      /tool call in a message has no name/,
    ],
    [JSON.parse("[".repeat(100) + "]".repeat(100)), /nested more than 32 times/],
    [{ role: "__proto__", content: "" }, /role "__proto__"/],
    [["constructor", "a"].map((role) => ({ role, content: "" })), /role "constructor"/],
  ])("refuse %j", (history, message) => {
    expect(() => compile(prompt, { history })).toThrow(message);
    expect(() => compile(prompt, { history })).toThrow(ValidationError);
  });

  test("may be left out only if they are optional", () => {
    expect(() => compile(prompt)).toThrow("missing variables: history");
    const optional = chatPrompt([{ placeholder: "history", isOptional: true }, ["user", "Hi"]]);
    expect(compile(optional).messages).toEqual([{ role: "user", content: "Hi" }]);
  });

  test("cyclic lists of messages end as an error", () => {
    const history: unknown[] = [];
    history.push(history);
    expect(() => compile(prompt, { history })).toThrow(/nested more than 32 times/);
  });
});

describe("bad manifests", () => {
  const kwargs = (messages: readonly unknown[]) => ({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "prompts", "chat", "ChatPromptTemplate"],
    kwargs: { messages },
  });
  const cyclic: Record<string, unknown> = { lc: 1, id: ["RunnableSequence"] };
  cyclic["kwargs"] = { first: cyclic };
  const cyclicChat = kwargs([]);
  (cyclicChat.kwargs.messages as unknown[]).push(cyclicChat);
  const cyclicPart: Record<string, unknown> = {};
  cyclicPart["self"] = cyclicPart;
  const dict = { lc: 1, id: ["DictPromptTemplate"], kwargs: { template: cyclicPart } };
  const text = (template: unknown, format = "f-string") => ({
    lc: 1,
    id: ["HumanMessagePromptTemplate"],
    kwargs: {
      prompt: { lc: 1, id: ["PromptTemplate"], kwargs: { template, template_format: format } },
    },
  });

  test.each<[string, unknown, RegExp]>([
    [
      "no prompt of LangChain",
      { messages: [] },
      /not a prompt in LangChain's format: expected.*chatPrompt/,
    ],
    ["null", null, /expected .* not null/],
    ["a text", "{a}", /not "\{a\}"/],
    ["a list", [], /not a list/],
    [
      "another class",
      { lc: 1, id: ["langchain", "Tool"], kwargs: {} },
      /is a "Tool", which can't be compiled. Supported are ChatPromptTemplate/,
    ],
    [
      "a class that is no text",
      { lc: 1, id: [{}], kwargs: {} },
      /not a prompt in LangChain's format/,
    ],
    ["no messages", { lc: 1, id: ["ChatPromptTemplate"] }, /no list of messages/],
    [
      "a message of another class",
      kwargs([{ lc: 1, id: ["FewShot"], kwargs: {} }]),
      /Message 1 of the prompt: A message has the role "FewShot"/,
    ],
    [
      "a nameless placeholder",
      kwargs([{ lc: 1, id: ["MessagesPlaceholder"], kwargs: {} }]),
      /Message 1.*names no variable/,
    ],
    [
      "a template that is no text",
      kwargs([text(7)]),
      /Message 1.*expected a template, not a value of type number/,
    ],
    [
      "Jinja",
      kwargs([text("{% x %}", "jinja2")]),
      /Message 1.*format "jinja2" is not supported. Use f-string or mustache/,
    ],
    ["a malformed template", kwargs([text("ok"), text("{a")]), /Message 2.*single "\{"/],
    ["a sequence that contains itself", cyclic, /nested more than 64 times, or contains itself/],
    ["a chat prompt that contains itself", cyclicChat, /nested more than 64 times/],
    [
      "a part that contains itself",
      kwargs([{ lc: 1, id: ["HumanMessagePromptTemplate"], kwargs: { prompt: [dict] } }]),
      /nested more than 64 times/,
    ],
    [
      "a structured prompt without a schema",
      { lc: 1, id: ["StructuredPrompt"], kwargs: { messages: [] } },
      /no schema/,
    ],
  ])("%s is refused", (_name, manifest, message) => {
    expect(() => compile(manifest as object)).toThrow(message);
    expect(() => compile(manifest as object)).toThrow(ValidationError);
  });

  test("a prompt that LangChain can't serialize is refused by its class", () => {
    const prompt = new FewShotPromptTemplate({
      examplePrompt: PromptTemplate.fromTemplate("{a}"),
      examples: [{ a: "1" }],
      inputVariables: [],
    });
    expect(() => compile(prompt)).toThrow(/"FewShotPromptTemplate", which can't be compiled/);
  });

  test("the error names the prompt and its commit", () => {
    const prompt: RuntimePrompt = {
      owner: "me",
      repo: "greeting",
      commitHash: "0123456789abcdef",
      manifest: { a: 1 },
      examples: [],
      name: "me/greeting",
      source: "memory",
    };
    expect(() => compile(prompt)).toThrow(
      /Failed to compile the prompt me\/greeting \(01234567\): The manifest/,
    );
    const { commitHash: _hash, ...fallback } = { ...prompt, source: "fallback" as const };
    expect(() => compile(fallback)).toThrow(/the prompt me\/greeting \(fallback\)/);
  });

  test("10,000 messages are compiled, and a large text is", () => {
    const manifest = chatPrompt(
      Array.from({ length: 10_000 }, (_, index) => ["user", `{v} ${index}`] as const),
    );
    expect(compile(manifest, { v: "x" }).messages).toHaveLength(10_000);
    const large = "x".repeat(10_000_000);
    expect(compile(chatPrompt([["user", "{v}"]]), { v: large }).messages[0]?.content).toBe(large);
  });
});

test("a frozen prompt is parsed once, and one that can change each time", () => {
  const manifest = { ...chatPrompt([["user", "a"]]) };
  const prompt = { owner: "-", repo: "p", manifest, examples: [], commitHash: "ab" };
  expect(compile(prompt).messages[0]?.content).toBe("a");
  prompt.manifest = { ...chatPrompt([["user", "b"]]) };
  expect(compile(prompt).messages[0]?.content).toBe("b");
});
