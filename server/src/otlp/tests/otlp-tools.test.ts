import { describe, expect, test } from "vitest";
import { mapped } from "../../../tests/support/otlp-spans.ts";

type Members = Readonly<Record<string, unknown>>;

const extraOf = (attributes: object): Members => mapped({ attributes })["extra"] as Members;
const toolsOf = (attributes: object): unknown =>
  (extraOf(attributes)["invocation_params"] as Members | undefined)?.["tools"];

const parameters = { type: "object", properties: { city: { type: "string" } } };
const description = "Tells the weather.";
const tool = { type: "function", function: { name: "weather", description, parameters } };

describe("the tools that a model can call have one form:", () => {
  test.each([
    [{ "gen_ai.tool.definitions": JSON.stringify([tool]) }],
    [{ "llm.tools.0.tool.json_schema": JSON.stringify(tool) }],
    [
      {
        "llm.tools.0.tool.name": "weather",
        "llm.tools.0.tool.description": description,
        "llm.tools.0.tool.json_schema": JSON.stringify(parameters),
      },
    ],
    [
      {
        "llm.request.functions.0.name": "weather",
        "llm.request.functions.0.description": description,
        "llm.request.functions.0.parameters": JSON.stringify(parameters),
      },
    ],
    [
      {
        "llm.request.functions.0.name": "weather",
        "llm.request.functions.0.description": description,
        "llm.request.functions.0.arguments": JSON.stringify(parameters),
      },
    ],
    [
      {
        "llm.request.functions.0.name": "weather",
        "llm.request.functions.0.description": description,
        "llm.request.functions.0.input_schema": JSON.stringify(parameters),
      },
    ],
  ])("%j", (attributes) => {
    expect(toolsOf(attributes)).toEqual([tool]);
    const { metadata } = extraOf(attributes) as { metadata: Members };
    expect(Object.keys(metadata).filter((name) => /tool|function/.test(name))).toEqual([]);
  });
});

test("tools have the order of their indexes", () => {
  const attributes = {
    "llm.tools.10.tool.json_schema": '{"type": "function", "function": {"name": "b"}}',
    "llm.tools.2.tool.json_schema": '{"type": "function", "function": {"name": "a"}}',
  };
  expect(toolsOf(attributes)).toMatchObject([
    { function: { name: "a" } },
    { function: { name: "b" } },
  ]);
});

test("definitions in the form of another provider stay as they are", () => {
  const own = { name: "weather", input_schema: parameters };
  expect(toolsOf({ "llm.tools.0.tool.json_schema": JSON.stringify(own) })).toEqual([own]);
});

test("a definition or a schema that is not JSON stays a text, with a warning", () => {
  const extra = extraOf({ "llm.tools.0.tool.json_schema": "{" });
  expect(extra).toMatchObject({
    invocation_params: { tools: [{ json_schema: "{" }] },
    metadata: { "otel.warnings": ['llm.tools.N.tool.json_schema is not a JSON object: "{"'] },
  });
  const attributes = {
    "llm.request.functions.0.name": "weather",
    "llm.request.functions.0.parameters": "{",
  };
  expect(extraOf(attributes)).toMatchObject({
    invocation_params: {
      tools: [{ type: "function", function: { name: "weather", parameters: "{" } }],
    },
    metadata: {
      "otel.warnings": ['llm.request.functions.N.parameters is not a JSON object: "{"'],
    },
  });
});
