import { describe, expect, test } from "vitest";
import { toChatMessages } from "../../../src/components/payload/chat-messages.ts";
import { toManifest } from "../../../src/features/prompts/manifest/manifest-edit.ts";
import { toPromptContent } from "../../../src/features/prompts/manifest/manifest.ts";
import {
  markVariables,
  readPromptReference,
  readVariableValues,
} from "../../../src/features/prompts/manifest/marked-prompt.ts";

const createContent = (
  texts: readonly (readonly [role: string, text: string])[],
  format: "f-string" | "mustache" | "jinja2" = "f-string",
) =>
  toPromptContent(
    toManifest({
      kind: "chat",
      format,
      messages: texts.map(([role, text], index) => ({ id: String(index), role, text })),
    }),
  )!;

const recorded = (...messages: readonly (readonly [role: string, content: unknown])[]) =>
  toChatMessages({ messages: messages.map(([role, content]) => ({ role, content })) }) ?? [];

const content = createContent([
  ["system", "Speak {language}."],
  ["human", "{question} {{kept}}"],
]);

describe("variables of recorded messages", () => {
  test("are marked with their names if prompt and values give exactly the messages", () => {
    const values = { language: "\u202e<b>", question: "Why?", unused: 1 };
    const messages = recorded(
      ["system", "Speak \u202e<b>."],
      ["user", "Why? {kept}"],
      ["assistant", "Because."],
    );
    expect(markVariables(content, values, messages)).toEqual([
      {
        role: "system",
        pieces: [{ text: "Speak " }, { text: "\u202e<b>", variable: "language" }, { text: "." }],
      },
      { role: "user", pieces: [{ text: "Why?", variable: "question" }, { text: " {kept}" }] },
    ]);
  });

  test.each([
    [
      "another text",
      { language: "Latin", question: "Why?" },
      [
        ["system", "Speak Latin."],
        ["user", "Why? {kept}!"],
      ],
    ],
    [
      "another role",
      { language: "Latin", question: "Why?" },
      [
        ["user", "Speak Latin."],
        ["user", "Why? {kept}"],
      ],
    ],
    ["fewer messages", { language: "Latin", question: "Why?" }, [["system", "Speak Latin."]]],
    [
      "an image too many",
      { language: "Latin", question: "Why?" },
      [
        ["system", "Speak Latin."],
        [
          "user",
          [
            { type: "text", text: "Why? {kept}" },
            { type: "image_url", image_url: { url: "data:," } },
          ],
        ],
      ],
    ],
    [
      "other values",
      { language: "Latin", question: "Where?" },
      [
        ["system", "Speak Latin."],
        ["user", "Why? {kept}"],
      ],
    ],
  ] as const)("are not guessed with %s", (_name, values, messages) => {
    expect(markVariables(content, values, recorded(...messages))).toBeUndefined();
  });

  test("are not marked without a value, or in a template that can't be filled in", () => {
    const messages = recorded(["system", "Speak {language}."], ["user", "{question} {kept}"]);
    expect(markVariables(content, {}, messages)).toBeUndefined();
    const jinja = createContent([["human", "{{ name }}"]], "jinja2");
    expect(markVariables(jinja, { name: "x" }, recorded(["user", "x"]))).toBeUndefined();
  });

  test("of a Mustache section are marked once for each item", () => {
    const list = createContent([["human", "{{#items}}- {{name}}\n{{/items}}"]], "mustache");
    const values = { items: [{ name: "a" }, { name: "b" }] };
    const [message] = markVariables(list, values, recorded(["user", "- a\n- b\n"])) ?? [];
    expect(message?.pieces.filter(({ variable }) => variable !== undefined)).toEqual([
      { text: "a", variable: "name" },
      { text: "b", variable: "name" },
    ]);
  });

  test("of a placeholder are whole messages, which must be the same", () => {
    const chat = createContent([
      ["placeholder", "history"],
      ["human", "{question}"],
    ]);
    const history = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello" },
    ];
    const messages = recorded(["user", "Hi"], ["assistant", "Hello"], ["user", "Why?"]);
    const marked = markVariables(chat, { history, question: "Why?" }, messages);
    expect(marked?.map(({ pieces }) => pieces)).toEqual([
      [{ text: "Hi", variable: "history" }],
      [{ text: "Hello", variable: "history" }],
      [{ text: "Why?", variable: "question" }],
    ]);
    const other = { history: [{ role: "user", content: "Ho" }], question: "Why?" };
    expect(markVariables(chat, other, messages)).toBeUndefined();
    expect(
      markVariables(chat, { history: [], question: "Why?" }, recorded(["user", "Why?"])),
    ).toHaveLength(1);
  });
});

test("a prompt is known by the hash of its commit only", () => {
  const hub = { lc_hub_owner: "-", lc_hub_repo: "qa", lc_hub_commit_hash: "3f2a4b5c" };
  const own = { address: { owner: "-", repo: "qa" }, commit: "3f2a4b5c" };
  expect(readPromptReference(hub)).toEqual(own);
  expect(readPromptReference({ prompt: "qa:3f2a4b5c" })).toEqual(own);
  expect(readPromptReference({ prompt: "acme/qa:3f2a4b5c" })?.address.owner).toBe("acme");
  for (const metadata of [
    undefined,
    { prompt: "qa:prod" },
    { prompt: "qa" },
    { prompt: "../x:3f2a4b5c" },
    { ...hub, lc_hub_commit_hash: "latest" },
    { ...hub, lc_hub_repo: "a/b" },
  ]) {
    expect(readPromptReference(metadata)).toBeUndefined();
  }
});

test("variables have the inputs of their names, or the members that an experiment mapped to them", () => {
  const inputs = { question: "Why?", land: { name: "Peru" } };
  const metadata = { prompt_mapping: { country: "inputs.land.name", other: "outputs.x" } };
  expect(readVariableValues(inputs, undefined)).toEqual(inputs);
  expect(readVariableValues(inputs, metadata)).toEqual({
    ...inputs,
    country: "Peru",
    other: undefined,
  });
  expect(readVariableValues(inputs, { prompt_mapping: { x: "inputs.constructor.name" } })).toEqual({
    ...inputs,
    x: undefined,
  });
});
