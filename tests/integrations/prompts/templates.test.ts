import { ChatPromptTemplate, PromptTemplate } from "@langchain/core/prompts";
import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  jsonValue,
  record,
  string,
} from "fast-check";
import { ValidationError } from "millrace";
import { chatPrompt, compile, listVariables } from "millrace/prompts";
import type { TemplateFormat } from "millrace/prompts";
import { describe, expect, test } from "vitest";

const render = (
  template: string,
  variables: Record<string, unknown> = {},
  format: TemplateFormat = "f-string",
): unknown => compile(chatPrompt([["user", template]], { format }), variables).messages[0]?.content;

const mustache = (template: string, variables: Record<string, unknown> = {}): unknown =>
  render(template, variables, "mustache");

/** What LangChain makes of the same template. */
const langchain = async (
  template: string,
  variables: Record<string, unknown>,
  templateFormat: TemplateFormat,
): Promise<string> => PromptTemplate.fromTemplate(template, { templateFormat }).format(variables);

describe("f-strings", () => {
  test.each([
    ["Hello {name}!", { name: "Ada" }, "Hello Ada!"],
    ["{a}{b}{a}", { a: 1, b: true }, "1true1"],
    ['JSON: {{"a": {a}}}', { a: { x: [1] } }, 'JSON: {"a": {"x":[1]}}'],
    ["}}{{", {}, "}{"],
    ["{a.b}", { "a.b": "dotted" }, "dotted"],
    ["{a}", { a: null }, "null"],
    ["😀{a}", { a: "{b}" }, "😀{b}"],
  ])("%s", async (template, variables, text) => {
    expect(render(template, variables)).toBe(text);
    expect(await langchain(template, variables, "f-string")).toBe(text);
  });

  test("any template that LangChain accepts has the same result", async () => {
    const piece = constantFrom("{a}", "{b}", "{{", "}}", "x", " ", "\n", '"', "$&", "é");
    await assert(
      asyncProperty(
        array(piece, { maxLength: 12 }),
        string(),
        jsonValue(),
        async (pieces, a, b) => {
          const template = pieces.join("");
          const used = {
            ...(template.includes("{a}") ? { a } : {}),
            ...(template.includes("{b}") ? { b } : {}),
          };
          const expected = await langchain(template, { a, b }, "f-string").catch(() => undefined);
          const isComparable = expected !== undefined && !/\{\{[ab]\}|\{[ab]\}\}/.test(template);
          expect(isComparable ? render(template, used) : expected).toBe(expected);
        },
      ),
    );
  });

  test.each([
    ["{a", /single "{" at character 1/],
    ["a }", /single "}" at character 3/],
    ["{}", /without a name at character 1/],
    ["{price:.2f}", /Python's formatting/],
    ["{name!r}", /Python's formatting/],
  ])("%s is refused", (template, message) => {
    expect(() => chatPrompt([["user", template]])).toThrow(message);
  });
});

describe("mustache", () => {
  test.each([
    [
      "Hello {{name}}! {{{name}}} {{&name}}",
      { name: "<Ada> & co" },
      "Hello <Ada> & co! <Ada> & co <Ada> & co",
    ],
    ["{{user.name}} {{ user.age }}", { user: { name: "Ada", age: 36 } }, "Ada 36"],
    ["{{#items}}- {{.}}\n{{/items}}", { items: ["a", "b"] }, "- a\n- b\n"],
    [
      "{{#users}}{{name}}{{^last}}, {{/last}}{{/users}}",
      { users: [{ name: "a" }, { name: "b", last: true }] },
      "a, b",
    ],
    ["{{#on}}yes{{/on}}{{^on}}no{{/on}}", { on: false }, "no"],
    ["{{#on}}yes {{name}}{{/on}}", { on: true, name: "Ada" }, "yes Ada"],
    ["a\n  {{#on}}\n  b\n  {{/on}}\nc", { on: true }, "a\n  b\nc"],
    ["a\n{{! a comment }}\nb", {}, "a\nb"],
    ["{{=<% %>=}}<%name%> {{x}}", { name: "Ada" }, "Ada {{x}}"],
    [
      "{{#user}}{{name}} of {{place}}{{/user}}",
      { user: { name: "Ada" }, place: "London" },
      "Ada of London",
    ],
    ["{{a}}", { a: null }, ""],
    ["{{list.length}}", { list: [1, 2] }, "2"],
    ["{{#n}}{{.}}{{/n}}", { n: 7 }, "7"],
    ["{{#deep}}{{#deep.er}}{{x}}{{/deep.er}}{{/deep}}", { deep: { er: { x: 1 } } }, "1"],
  ])("%s", async (template, variables, text) => {
    expect(mustache(template, variables)).toBe(text);
    expect(await langchain(template, variables, "mustache")).toBe(text);
  });

  test("any template that LangChain accepts has the same result", async () => {
    const piece = constantFrom(
      "{{a}}",
      "{{b.c}}",
      "{{#list}}",
      "{{/list}}",
      "{{^list}}",
      "{{.}}",
      "{{! c }}",
      "{{#b}}",
      "{{/b}}",
      "{{c}}",
      "x",
      " ",
      "\n",
      "\r\n",
      "  ",
      " { ",
      " } ",
    );
    const values = record({
      a: string(),
      b: record({ c: constantFrom("c", 1, false) }),
      list: constantFrom([], ["p", "q"], [{ c: "i" }, {}], false, true),
      c: constant("root"),
    });
    let compared = 0;
    await assert(
      asyncProperty(array(piece, { maxLength: 10 }), values, async (pieces, variables) => {
        const template = pieces.join("");
        const expected = await langchain(template, variables, "mustache").catch(() => undefined);
        if (expected === undefined || expected.includes("[object Object]")) {
          return;
        }
        // Where LangChain writes a list as `p,q`, and ours as JSON.
        if (template.includes("{{.}}") && !template.includes("{{#list}}")) {
          return;
        }
        compared += 1;
        const own = compile(chatPrompt([["user", template]], { format: "mustache" }), variables, {
          unused: "ignore",
        });
        expect(own.messages[0]?.content).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
    expect(compared).toBeGreaterThan(200);
  });

  test("a member that an item of a list lacks is empty, a variable that the caller lacks is missing", () => {
    const template = "{{#users}}{{name}}{{nick}};{{/users}}";
    expect(mustache(template, { users: [{ name: "a" }, { nick: "b" }] })).toBe("a;b;");
    expect(() => mustache("{{#on}}{{name}}{{/on}}", { on: true })).toThrow(
      "missing variables: name",
    );
    expect(() => mustache("{{user.name}}", { user: {} })).toThrow("missing variables: user.name");
    expect(mustache("a{{#maybe}}b{{/maybe}}{{^maybe}}c{{/maybe}}")).toBe("ac");
  });

  test.each([
    ["{{a", /tag at character 1 is not closed/],
    ["{{{a}}", /not closed: add "}}}"/],
    ["{{#a}}", /section "a" is not closed/],
    ["{{/a}}", /closes the section "a", but no section is open/],
    ["{{#a}}{{/b}}", /closes the section "b", but expected "a"/],
    ["{{> other}}", /partial "other", which is not supported/],
    ["{{=a=}}", /invalid delimiters/],
    ["{{#a}}".repeat(200), /more than 100 sections/],
  ])("%.20s is refused", (template, message) => {
    expect(() => chatPrompt([["user", template]], { format: "mustache" })).toThrow(message);
  });
});

describe("variables", () => {
  test("missing and unused ones are named, with those that the prompt uses", () => {
    const prompt = chatPrompt([
      ["system", "Be {tone}"],
      { placeholder: "history" },
      ["user", "{question}"],
    ]);
    expect(listVariables(prompt)).toEqual(["tone", "history", "question"]);
    expect(() => compile(prompt, { tone: "kind", qestion: "Why?" })).toThrow(
      new ValidationError(
        'Failed to compile the prompt: missing variables: history, question; unused variables: qestion (pass { unused: "ignore" } to allow them). It uses tone, history, question',
      ),
    );
    expect(() => compile(prompt, { tone: undefined, history: [], question: "" })).toThrow(
      "missing variables: tone. It uses",
    );
    expect(() => compile(chatPrompt([["user", "Hi"]]), { name: 1 })).toThrow("It has no variables");
    const variables = { tone: "kind", history: [], question: "Why?", more: 1 };
    expect(compile(prompt, variables, { unused: "ignore" }).messages).toHaveLength(2);
  });

  test("inherited members are never reached", () => {
    const hostile = ["constructor", "__proto__", "toString", "hasOwnProperty"];
    for (const name of hostile) {
      expect(() => render(`{${name}}`)).toThrow(`missing variables: ${name}`);
      expect(() => mustache(`{{${name}}}`)).toThrow(`missing variables: ${name}`);
      expect(() => mustache(`{{a.${name}}}`, { a: {} })).toThrow(`missing variables: a.${name}`);
      expect(mustache(`{{#a}}{{${name}}}{{/a}}`, { a: [{}] })).toBe("");
    }
    const own = JSON.parse('{"__proto__":"own"}') as Record<string, unknown>;
    expect(render("{__proto__}", own)).toBe("own");
    expect(mustache("{{__proto__}}", own)).toBe("own");
    expect({}).not.toHaveProperty("own");
  });

  test("values that can't be a text are refused by name", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const refused: readonly [unknown, RegExp][] = [
      [cyclic, /variable "a" can't be written as JSON/],
      [() => "x", /variable "a" is a function/],
      [Symbol("s"), /variable "a" is a symbol/],
      [{ toJSON: () => undefined }, /can't be written as JSON/],
      [{ n: 1n }, /can't be written as JSON/],
      [
        {
          toJSON: () => {
            throw new Error("mine");
          },
        },
        /mine/,
      ],
    ];
    for (const [value, message] of refused) {
      expect(() => render("{a}", { a: value })).toThrow(message);
      expect(() => render("{a}", { a: value })).toThrow(ValidationError);
    }
    expect(() => mustache("{{#a}}x{{/a}}", { a: () => "x" })).toThrow(/variable "a" is a function/);
    expect(render("{a}{b}", { a: 10n, b: { d: [new Date(0)] } })).toBe(
      '10{"d":["1970-01-01T00:00:00.000Z"]}',
    );
    expect(mustache("{{a}}", { a: { b: [1] } })).toBe('{"b":[1]}');
  });

  test("variables are a plain object", () => {
    const prompt = chatPrompt([["user", "{a}"]]);
    for (const value of [null, [], "a", new Map([["a", 1]]), 1]) {
      expect(() => compile(prompt, value as unknown as Record<string, unknown>)).toThrow(
        /compile takes the variables as a plain object/,
      );
    }
    const bare = Object.assign(Object.create(null) as object, { a: 1 });
    expect(compile(prompt, bare as Record<string, unknown>).messages[0]?.content).toBe("1");
    expect(() => compile(prompt, { a: 1 }, { strict: true } as object)).toThrow(
      /no option "strict"/,
    );
    expect(() => compile(prompt, { a: 1 }, { unused: "warn" } as object)).toThrow(
      /must be "error"/,
    );
  });

  test("an object whose getters throw ends as an error that names the prompt", () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no keys");
        },
      },
    );
    expect(() => render("{a}", hostile)).toThrow(
      new ValidationError("Failed to compile the prompt: no keys"),
    );
  });

  test("a template that multiplies its lists is stopped", () => {
    const list = Array.from({ length: 100 }, () => ({}));
    const template = `${"{{#a}}".repeat(10)}x${"{{/a}}".repeat(10)}`;
    const started = performance.now();
    expect(() => mustache(template, { a: list })).toThrow(/more than 1000000 items/);
    expect(() =>
      mustache("{{#a}}{{text}}{{/a}}", { a: list, text: "x".repeat(1_000_000) }),
    ).toThrow(/longer than 67108864 characters/);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("large templates take time in proportion to their length", () => {
    const started = performance.now();
    const large = "{a} {{}} ".repeat(200_000);
    expect(String(render(large, { a: "x" }))).toHaveLength(5 * 200_000);
    const spaces = `{{#a}}${" ".repeat(500_000)}x{{/a}}`;
    expect(mustache(spaces, { a: true })).toHaveLength(500_001);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

test("LangChain reads the templates that chatPrompt writes", async () => {
  const manifest = chatPrompt([["user", "{{#on}}{{name}}{{/on}}"]], { format: "mustache" });
  expect(manifest).toEqual({
    ...JSON.parse(
      JSON.stringify(
        ChatPromptTemplate.fromMessages([["human", "{{#on}}{{name}}{{/on}}"]], {
          templateFormat: "mustache",
        }),
      ),
    ),
  });
});
