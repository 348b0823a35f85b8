import { expect, test } from "vitest";
import type { ChatMessage } from "../../../src/components/payload/chat-messages.ts";
import { divideMessages } from "../../../src/features/threads/turn-messages.ts";

/** Messages from texts such as `user: hello`. */
const toMessages = (...texts: readonly string[]): readonly ChatMessage[] =>
  texts.map((text) => {
    const [role = "", content = ""] = text.split(": ");
    return { role, name: undefined, parts: [{ kind: "text", text: content }] };
  });

test("the first turn shows all messages, also examples of answers in the prompt", () => {
  const inputs = toMessages("system: be brief", "user: 1+1", "assistant: 2", "user: 2+2");
  const answer = toMessages("assistant: 4");
  expect(divideMessages(inputs, answer, true)).toEqual({ earlier: [], added: inputs, answer });
});

test("a later turn shows what follows the last answer; the same question again is shown again", () => {
  const earlier = toMessages("system: be brief", "user: yes", "assistant: fine");
  const added = toMessages("user: yes");
  const answer = toMessages("assistant: fine");
  expect(divideMessages([...earlier, ...added], answer, false)).toEqual({ earlier, added, answer });
});

test("the results of tools that follow a call of the assistant are new messages", () => {
  const earlier = toMessages("user: weather?", "assistant: calls the tool");
  const added = toMessages("tool: sunny");
  expect(divideMessages([...earlier, ...added], [], false)).toEqual({ earlier, added, answer: [] });
});

test("a turn that sends only its own message shows it", () => {
  const added = toMessages("user: and now?");
  expect(divideMessages(added, [], false)).toEqual({ earlier: [], added, answer: [] });
});

test("an answer that the request begins is not taken for an earlier one", () => {
  const added = toMessages("user: as JSON", "assistant: {");
  expect(divideMessages(added, [], false)).toEqual({ earlier: [], added, answer: [] });
});

test("outputs that contain the conversation show only what follows the question", () => {
  const inputs = toMessages("user: second");
  const state = toMessages("user: first", "assistant: one", "user: second", "assistant: two");
  expect(divideMessages(inputs, state, false).answer).toEqual(toMessages("assistant: two"));
});

test("an answer with the same words as the question is shown", () => {
  const inputs = toMessages("user: ping");
  const echo = toMessages("user: ping");
  expect(divideMessages(inputs, echo, false).answer).toEqual(echo);
});
