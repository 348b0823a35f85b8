import { expect, test } from "vitest";
import { parseQuestion } from "../../examples/ask-the-docs/backend.ts";
import { makeTopics, planQuestion } from "../../examples/ask-the-docs/questions.ts";

const titles = ["Timeouts", "1.2.3", "2024-05-01", "When to use", "Worker threads"];
const sections = titles.map((title, id) => ({ id, path: `${id}.md`, title, line: 1, text: title }));
const topics = makeTopics(sections, 200, 1);

test("questions are made of headings that name something, each with its page", () => {
  expect(new Set(topics.map(({ page }) => page))).toEqual(new Set(["Timeouts", "Worker threads"]));
  expect(topics.every(({ question, page }) => question.includes(page))).toBe(true);
});

test("the same seed gives the same questions, another seed others", () => {
  expect(makeTopics(sections, 200, 1)).toEqual(topics);
  expect(makeTopics(sections, 200, 2)).not.toEqual(topics);
});

test("the plan is the same every time, and two in a hundred questions make something fail", () => {
  const plan = (): object[] =>
    Array.from({ length: 200 }, (_, index) => planQuestion(topics, index));
  const questions = Array.from({ length: 200 }, (_, index) => planQuestion(topics, index));
  expect(plan()).toEqual(questions);
  expect(questions.filter(({ stalled }) => stalled)).toHaveLength(2);
  expect(questions.filter(({ language }) => language !== "en")).toHaveLength(2);
  expect(questions.filter(({ breadth }) => breadth === "files")).toHaveLength(2);
});

test("a corpus without headings gives no questions", () => {
  expect(makeTopics([], 10, 1)).toEqual([]);
});

test("the route accepts a plain question, and refuses anything else", () => {
  expect(parseQuestion('{"question":"Why?"}')).toEqual({
    question: "Why?",
    page: "",
    breadth: 4,
    language: "en",
  });
  expect(() => parseQuestion('{"question":1}')).toThrow(TypeError);
  expect(() => parseQuestion("null")).toThrow(TypeError);
});
