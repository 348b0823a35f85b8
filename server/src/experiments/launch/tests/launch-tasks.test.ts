import { expect, test } from "vitest";
import { renderPrompt, scoreOutput } from "../launch-tasks.ts";

const example = {
  inputs: '{"question":"Where?","context":{"city":"Bonn"}}',
  outputs: '{"answer":"Bonn"}',
  metadata: '{"source":"test"}',
};
/** A prompt as the hub stores it. */
const createManifest = (...templates: readonly string[]): string =>
  JSON.stringify({
    lc: 1,
    type: "constructor",
    id: ["langchain", "prompts", "chat", "ChatPromptTemplate"],
    kwargs: {
      messages: templates.map((template, index) => ({
        lc: 1,
        type: "constructor",
        id: [
          "langchain",
          "prompts",
          "chat",
          index === 0 ? "SystemMessagePromptTemplate" : "HumanMessagePromptTemplate",
        ],
        kwargs: {
          prompt: {
            lc: 1,
            type: "constructor",
            id: ["langchain", "prompts", "prompt", "PromptTemplate"],
            kwargs: { template, template_format: "f-string" },
          },
        },
      })),
    },
  });

test("a prompt gets the inputs of its names, and mapped members of the example", () => {
  const rendered = renderPrompt({
    kind: "renderPrompt",
    manifest: createManifest("Know {city} from {source}.", "{question}"),
    example,
    mapping: { city: "inputs.context.city", source: "metadata.source" },
  });
  expect(rendered).toEqual({
    variables: ["city", "source", "question"],
    paths: ["inputs.question", "inputs.context", "outputs.answer", "metadata.source"],
    messages: [
      { role: "system", content: "Know Bonn from test." },
      { role: "user", content: "Where?" },
    ],
    saved: { settings: {} },
  });
});

test.each([
  [{}, /missing variables: city/],
  [{ city: "inputs.town" }, /no member "inputs.town"/],
  [{ city: "outputs.answer.x" }, /no member/],
])("a variable without a value is an error that names it: %o", (mapping, reason) => {
  const manifest = createManifest("Know {city}.");
  const rendered = renderPrompt({ kind: "renderPrompt", manifest, example, mapping });
  expect("error" in rendered ? rendered.error : "").toMatch(reason);
});

test("an output is scored, and the prompts of judges are filled in", () => {
  const { scores, prompts } = scoreOutput({
    kind: "scoreOutput",
    example,
    output: '{"output":"Bonn"}',
    scorers: [
      { scorer: "exactMatch" },
      { scorer: "contains", options: { key: "names it", expected: "Berlin" } },
      { scorer: "numericCloseness" },
    ],
    templates: [
      "{{output.output}} for {{inputs.question}}, not {{reference.answer}}?",
      "{{other}}",
    ],
  });
  expect(scores).toEqual([
    { key: "exactMatch", score: true },
    { key: "names it", score: false, comment: "missing: Berlin" },
    { key: "numericCloseness", error: "Bonn is not a number" },
  ]);
  expect(prompts).toEqual([
    { text: "Bonn for Where?, not Bonn?" },
    {
      error: expect.stringContaining(
        "no other: the variables are inputs, output and reference",
      ) as unknown,
    },
  ]);
});

test("without reference outputs, a scorer that needs them is an error", () => {
  const { scores } = scoreOutput({
    kind: "scoreOutput",
    example: { ...example, outputs: null },
    output: '{"output":"Bonn"}',
    scorers: [{ scorer: "exactMatch" }, { scorer: "matchesRegex", options: { pattern: "^B" } }],
    templates: [],
  });
  expect(scores).toEqual([
    { key: "exactMatch", error: expect.stringContaining("no reference outputs") as unknown },
    { key: "matchesRegex", score: true },
  ]);
});
