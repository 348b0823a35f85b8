import { expect, test } from "vitest";
import { toChatMessages } from "../../../src/components/payload/chat-messages.ts";
import { placeToolResults } from "../../../src/components/payload/tool-results.ts";

const call = (id: string, name: string) => ({
  id,
  type: "function",
  function: { name, arguments: "{}" },
});

const place = (messages: readonly object[]) => placeToolResults(toChatMessages({ messages }) ?? []);

test("the results of two calls are below the calls that they answer, whatever their order", () => {
  const placed = place([
    { role: "user", content: "Compare both" },
    { role: "assistant", content: null, tool_calls: [call("a", "rain"), call("b", "wind")] },
    { role: "tool", tool_call_id: "b", content: "12 kn" },
    { role: "tool", tool_call_id: "a", content: "none" },
    { role: "assistant", content: "Dry and calm." },
  ]);
  expect(placed.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
  expect(placed[1]?.parts).toMatchObject([
    { name: "rain", results: ["none"] },
    { name: "wind", results: ["12 kn"] },
  ]);
});

test("if a program repeats an id, a result belongs to the latest call before it", () => {
  const placed = place([
    { role: "assistant", content: null, tool_calls: [call("1", "first")] },
    { role: "tool", tool_call_id: "1", content: "one" },
    { role: "assistant", content: null, tool_calls: [call("1", "second")] },
    { role: "tool", tool_call_id: "1", content: "two" },
  ]);
  expect(placed.map(({ parts }) => parts)).toMatchObject([
    [{ name: "first", results: ["one"] }],
    [{ name: "second", results: ["two"] }],
  ]);
});

test("a result whose call is missing, and a message without content, stay in their places", () => {
  const placed = place([
    { role: "tool", tool_call_id: "lost", content: "42" },
    { role: "assistant", content: "" },
  ]);
  expect(placed.map(({ role, parts }) => [role, parts.map(({ kind }) => kind)])).toEqual([
    ["tool", ["toolResult"]],
    ["assistant", []],
  ]);
});

test("the result of an Anthropic tool leaves the rest of the user's message behind", () => {
  const placed = place([
    { role: "assistant", content: [{ type: "tool_use", id: "t", name: "sky", input: {} }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t", content: "blue" },
        { type: "text", text: "And tomorrow?" },
      ],
    },
  ]);
  expect(placed[0]?.parts).toMatchObject([{ name: "sky", results: ["blue"] }]);
  expect(placed[1]?.parts).toEqual([{ kind: "text", text: "And tomorrow?" }]);
});
