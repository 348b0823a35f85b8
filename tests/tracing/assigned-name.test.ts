import { expect, test } from "vitest";
import { findAssignedName } from "../../src/tracing/runs/assigned-name.ts";
import { currentRun } from "../../src/tracing/runs/context.ts";
import { traceable } from "../../src/tracing/runs/traceable.ts";
import { CollectingClient } from "./collecting-client.ts";

/** The name that is found for the call in `source` at `traceable`, or at `§`, which is not part of the source. */
function nameIn(source: string): string | undefined {
  const at = source.includes("§") ? source.indexOf("§") : source.lastIndexOf("traceable");
  const before = source.slice(0, at).split("\n");
  const place = { line: before.length, column: (before.at(-1) ?? "").length + 1 };
  return findAssignedName(source.replace("§", ""), place);
}

test.each([
  ["a variable", "const answer = traceable(async () => 1);"],
  ["a variable without spaces", "const answer=traceable(()=>1);"],
  ["an exported variable", "import a from 'a';\nexport const answer = traceable(() => 1);"],
  ["a variable with a type", "let answer: () => Promise<string> = traceable(() => 1);"],
  ["a variable on the line before", "const answer =\n  traceable(\n    () => 1,\n  );"],
  ["the second variable of a declaration", "const first = 1, answer = traceable(() => 1);"],
  ["a property", "const tools = { first: 1, answer: traceable(() => 1) };"],
  ["a quoted property", 'const tools = {\n  "answer": traceable(() => 1),\n};'],
  ["an assigned property", "exports.answer = traceable(() => 1);"],
  ["an assigned property of this", "{ this.answer = traceable(() => 1) }"],
  ["a field", "class A {\n  answer = traceable(() => 1);\n}"],
  ["a private field", "class A { readonly #answer = traceable(() => 1) }"],
  ["a field with a type", "class A {\n  private answer?: Answer = traceable(() => 1);\n}"],
  ["a variable that may have a value", "answer ??= traceable(() => 1);"],
  ["the result of a promise", "const answer = await traceable(() => 1);"],
  ["a call by namespace", "const answer = millrace.traceable(() => 1);"],
  ["a call that a compiler wrote", "const answer = (0, millrace.traceable)§(() => 1);"],
])("finds the name of %s", (_, source) => {
  expect(nameIn(source)).toBe("answer");
});

test.each([
  ["an argument", "use(traceable(() => 1));"],
  ["a returned function", "return traceable(() => 1);"],
  ["a default export", "export default traceable(() => 1);"],
  ["a comparison", "if (a == traceable(() => 1)) {}"],
  ["an alternative", "const answer = test ? first : traceable(() => 1);"],
  [
    "a type that is the last word before the call",
    "class A { answer: Map<A, Answer> = traceable(() => 1) }",
  ],
  ["a part of an expression", "const answer = 1 + traceable(() => 1);"],
  ["an added value", "answer += traceable(() => 1);"],
  ["another call at this place", "const answer = §other(() => 1);"],
  ["a place after the end", "const answer = 1;§"],
])("finds none for %s", (_, source) => {
  expect(nameIn(source)).toBeUndefined();
});

test("a place outside of the source has no name", () => {
  expect(findAssignedName("const answer = traceable();", { line: 9, column: 4 })).toBeUndefined();
  expect(findAssignedName("", { line: Number.NaN, column: Number.NaN })).toBeUndefined();
});

const client = new CollectingClient();
const nameOfRun = (): string | undefined => currentRun()?.name;

test("an anonymous function is named after what it is assigned to", () => {
  const answer = traceable(() => nameOfRun(), { client });
  const tools = { search: traceable(() => nameOfRun(), { client }) };
  class Agent {
    readonly plan = traceable(() => nameOfRun(), { client });
  }
  expect([answer(), tools.search(), new Agent().plan()]).toEqual(["answer", "search", "plan"]);
});

test("its own name and the option come first, and without any name it is the run type", () => {
  const first = traceable(nameOfRun, { client });
  const second = traceable(() => nameOfRun(), { client, name: "given" });
  expect([first(), second()]).toEqual(["nameOfRun", "given"]);
  expect(traceable(() => nameOfRun(), { client, runType: "tool" })()).toBe("tool");
});

test("the source is not needed: without a stack the run is named after its type", () => {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const answer = traceable(() => nameOfRun(), { client });
  Error.stackTraceLimit = limit;
  expect(answer()).toBe("chain");
  const prepare: unknown = Reflect.get(Error, "prepareStackTrace");
  Error.prepareStackTrace = () => {
    throw new Error("no stack");
  };
  const hidden = traceable(() => nameOfRun(), { client });
  const name = hidden();
  Reflect.set(Error, "prepareStackTrace", prepare);
  expect(name).toBe("chain");
});
