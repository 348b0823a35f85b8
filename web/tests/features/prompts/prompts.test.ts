import { ChatPromptTemplate, PromptTemplate } from "@langchain/core/prompts";
import { describe, expect, test } from "vitest";
import {
  parsePromptSearch,
  parsePromptsSearch,
  toPromptQuery,
} from "../../../src/features/prompts/prompts-search.ts";
import {
  firstDraft,
  toManifest,
  toPromptDraft,
  applyDraft,
} from "../../../src/features/prompts/manifest/manifest-edit.ts";
import {
  toDiffText,
  toPromptContent,
  listVariables,
} from "../../../src/features/prompts/manifest/manifest.ts";
import { parseTags, toPullCode } from "../../../src/features/prompts/prompt.ts";
import { fillPrompt } from "../../../src/features/prompts/manifest/prompt-render.ts";
import {
  fillTemplate,
  findTemplateFault,
  toSegments,
  toVariables,
} from "../../../src/features/prompts/manifest/template.ts";

const committed = (prompt: object): unknown => JSON.parse(JSON.stringify(prompt));

const chat = committed(
  ChatPromptTemplate.fromMessages([
    ["system", "You speak {language}."],
    ["placeholder", "{history}"],
    ["human", "{question} {{kept}}"],
  ]),
);

describe("templates", () => {
  test("doubled braces of f-strings are braces; what the SDK refuses is a fault, and shown as text", () => {
    const template = "a {b} {c} {{d}}";
    expect(toVariables(template, "f-string").map(({ name }) => name)).toEqual(["b", "c"]);
    expect(fillTemplate(template, "f-string", { b: "B", c: 1 })).toBe("a B 1 {d}");
    for (const [malformed, format, reason] of [
      ["a {b} }", "f-string", /single "}" at character 7/],
      ["{c!r:>4}", "f-string", /Python's formatting/],
      ["{{#a}}open", "mustache", /section "a" is not closed/],
      ["{{> other}}", "mustache", /partial "other"/],
    ] as const) {
      expect(findTemplateFault(malformed, format)).toMatch(reason);
      expect(toSegments(malformed, format)).toEqual([{ kind: "text", text: malformed }]);
      expect(toVariables(malformed, format)).toEqual([]);
      expect(() => fillTemplate(malformed, format, {})).toThrow(reason);
    }
    expect(findTemplateFault(template, "f-string")).toBeUndefined();
  });

  test("a variable without a value is left as written, and values are not parsed as templates", () => {
    expect(fillTemplate("{a} { b }", "f-string", { a: "{b}" })).toBe("{b} { b }");
    expect(fillTemplate("{{a}} {{b}}", "mustache", { a: "{{b}}" })).toBe("{{b}} {{b}}");
    expect(fillTemplate("{constructor}", "f-string", {})).toBe("{constructor}");
  });

  test("Mustache sections, inverted sections, dotted names, comments and delimiters are supported", () => {
    const template =
      "{{#items}}{{name}}:{{.}};{{/items}}{{^none}}no{{/none}}{{! c }}{{a.b}}{{#o}}{{x}}{{/o}}{{{raw}}}";
    expect(toVariables(template, "mustache")).toEqual([
      { name: "items", isStructured: true },
      { name: "none", isStructured: true },
      { name: "a", isStructured: true },
      { name: "o", isStructured: true },
      { name: "raw", isStructured: false },
    ]);
    const values = { items: [{ name: "n" }], a: { b: 2 }, o: { x: "<x>" }, raw: "&" };
    expect(fillTemplate(template, "mustache", values)).toBe('n:{"name":"n"};no2<x>&');
    expect(fillTemplate("{{=<% %>=}}<% a %>{{b}}", "mustache", { a: 1 })).toBe("1{{b}}");
  });

  test("the segments joined are the template", () => {
    const template = "{{#a}}\n {{b}} {{/a}}\n {c} {{! d }}{{{ e }}}{{=<% %>=}}<% f %>";
    const segments = toSegments(template, "mustache");
    const whole = segments.map((segment) =>
      segment.kind === "text" ? segment.text : segment.source,
    );
    expect(whole.join("")).toBe(template);
    expect(segments.flatMap((segment) => (segment.kind === "text" ? [] : [segment.kind]))).toEqual([
      "mark",
      "variable",
      "mark",
      "mark",
      "variable",
      "mark",
      "variable",
    ]);
  });

  test("of Jinja2, variables are found, and replaced where they have a value", () => {
    const template = "{% if a %}{{ a }} {{ b.c|upper }}{% endif %}";
    expect(toVariables(template, "jinja2")).toEqual([
      { name: "a", isStructured: false },
      { name: "b", isStructured: true },
    ]);
    expect(fillTemplate(template, "jinja2", { a: 1 })).toBe(
      "{% if a %}1 {{ b.c|upper }}{% endif %}",
    );
  });
});

describe("manifests", () => {
  test("a chat prompt of LangChain is parsed: roles, texts, placeholders, variables", () => {
    const content = toPromptContent(chat)!;
    expect(content).toMatchObject({
      kind: "chat",
      format: "f-string",
      messages: [
        { role: "system", parts: [{ text: "You speak {language}." }] },
        { kind: "placeholder", variable: "history", isOptional: true },
        { role: "human" },
      ],
    });
    expect(listVariables(content)).toEqual([
      { name: "language", isStructured: false, isMessageList: false },
      { name: "history", isStructured: true, isMessageList: true },
      { name: "question", isStructured: false, isMessageList: false },
    ]);
  });

  test("text prompts, structured prompts and prompts with a model are parsed; others are not", () => {
    const text = committed(new PromptTemplate({ template: "Hi {a}", inputVariables: ["a"] }));
    expect(toPromptContent(text)).toMatchObject({ kind: "text", messages: [{ role: "template" }] });
    const structured = {
      ...(chat as object),
      id: ["langchain_core", "prompts", "structured", "StructuredPrompt"],
      kwargs: { ...(chat as { kwargs: object }).kwargs, schema_: { type: "object" } },
    };
    expect(toPromptContent(structured)).toMatchObject({
      kind: "structured",
      schema: { type: "object" },
    });
    const sequence = {
      lc: 1,
      id: ["x", "RunnableSequence"],
      kwargs: { first: structured, last: { lc: 1, id: ["ChatX"], kwargs: { m: 1, model: "x" } } },
    };
    expect(toPromptContent(sequence)).toMatchObject({
      kind: "structured",
      model: { className: "ChatX", name: "x", others: { m: 1 } },
    });
    for (const other of [null, 5, {}, { lc: 1, id: ["FewShotPromptTemplate"], kwargs: {} }]) {
      expect(toPromptContent(other)).toBeUndefined();
    }
  });

  test("messages with values are the same as those that LangChain formats", async () => {
    const content = toPromptContent(chat)!;
    const typed = {
      language: "Latin",
      question: "Quid?",
      history: '[{"role": "ai", "content": "Salve"}]',
    };
    const filled = fillPrompt(content, listVariables(content), typed);
    const template = ChatPromptTemplate.fromMessages([
      ["system", "You speak {language}."],
      ["placeholder", "{history}"],
      ["human", "{question} {{kept}}"],
    ]);
    const theirs = await template.formatMessages({
      ...typed,
      history: JSON.parse(typed.history) as unknown,
    });
    expect(filled).toEqual(
      theirs.map((message) => ({ role: message.getType(), text: message.content })),
    );
    expect(fillPrompt(content, listVariables(content), {})).toHaveLength(2);
  });

  test("the editor's manifest is valid for LangChain, and edits keep the parts that it does not show", () => {
    const draft = toPromptDraft(chat)!;
    expect(toPromptContent(toManifest(draft))).toEqual(toPromptContent(chat));
    expect(toManifest(firstDraft)).toMatchObject({ kwargs: { input_variables: ["question"] } });
    const sequence = {
      lc: 1,
      id: ["x", "RunnableSequence"],
      kwargs: { first: chat, last: { m: 1 } },
    };
    const changed = {
      ...draft,
      messages: draft.messages.map((message) => ({ ...message, text: `${message.text}!` })),
    };
    const edited = applyDraft(sequence, changed);
    expect(edited).toMatchObject({ kwargs: { last: { m: 1 } } });
    expect(toPromptContent(edited)).toMatchObject({
      messages: [{ parts: [{ text: "You speak {language}.!" }] }, {}, {}],
    });
    const image = { lc: 1, id: ["ImagePromptTemplate"], kwargs: { template: { url: "{u}" } } };
    const human = { lc: 1, id: ["HumanMessagePromptTemplate"], kwargs: { prompt: [image] } };
    const pictured = { lc: 1, id: ["ChatPromptTemplate"], kwargs: { messages: [human] } };
    expect(toPromptDraft(pictured)).toBeUndefined();
    expect(toPromptContent(pictured)?.messages).toMatchObject([
      { parts: [{ kind: "image", text: "{u}" }] },
    ]);
  });

  test("the messages are compared, or the JSON if there are none", () => {
    expect(toDiffText(chat)).toContain("— system\nYou speak {language}.");
    expect(toDiffText({ a: 1 })).toBe('{\n  "a": 1\n}');
  });
});

test("the URL becomes a query to the server; invalid parameters are left out", () => {
  expect(parsePromptsSearch({ q: 12, tags: "a", sort: "x", order: "up", archived: "yes" })).toEqual(
    {
      q: "12",
      tags: ["a"],
    },
  );
  expect(
    toPromptQuery({ q: "a b", tags: ["x", "y"], sort: "repo_handle" }, { tenantId: "t" }),
  ).toBe(
    "sort_field=repo_handle&sort_direction=asc&query=a+b&tags=x&tags=y&is_archived=false&tenant_id=t",
  );
  expect(toPromptQuery({ archived: true, order: "asc" }, {})).toBe(
    "sort_field=updated_at&sort_direction=asc&is_archived=true&is_public=true",
  );
  expect(parsePromptSearch({ tab: "nope", against: "<script>", organizationId: "o" })).toEqual({
    organizationId: "o",
  });
});

test("the program that pulls a prompt quotes its name, and tags are separated by commas or spaces", () => {
  expect(toPullCode('a"b', "http://h")).toContain('pull("a\\"b")');
  expect(parseTags(" a, b  a,")).toEqual(["a", "b"]);
});
