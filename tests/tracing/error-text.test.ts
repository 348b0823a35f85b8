import { expect, test } from "vitest";
import { errorText } from "../../src/tracing/error-text.ts";

test("an error is its name, message and stack", () => {
  expect(errorText(new TypeError("bad"))).toMatch(/^TypeError: bad\n {4}at /);
});

test("causes follow, each once, also in a circle", () => {
  const inner: Error & { cause?: unknown } = new Error("inner");
  const outer = new Error("outer", { cause: inner });
  inner.cause = outer;
  const text = errorText(outer);
  expect(text.match(/Error: outer/g)).toHaveLength(1);
  expect(text).toContain("Caused by: Error: inner");
});

test("a message that changed after the stack was made is told", () => {
  const error = new Error("before");
  error.message = "after";
  expect(errorText(error)).toMatch(/^Error: after\n/);
});

test.each([
  ["text", "text"],
  [42, "42"],
  [null, "null"],
  [undefined, "undefined"],
  [{ code: 7 }, '{"code":7}'],
  ["", "[an empty text was thrown]"],
])("what is no error is told as it is: %j", (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});

test("a hostile error is told as far as it lets itself be read", () => {
  const hostile = Object.defineProperties(new Error("still told"), {
    stack: {
      get: () => {
        throw new Error("no stack for you");
      },
    },
  });
  expect(errorText(hostile)).toBe("Error: still told");
  const refuses = new Proxy(
    {},
    {
      get: () => {
        throw new Error("nothing for you");
      },
    },
  );
  expect(errorText(refuses)).toBe("[a thrown value that can't be told]");
});

test("the text is bounded", () => {
  expect(errorText(new Error("x".repeat(1_000_000))).length).toBe(65_536);
});
