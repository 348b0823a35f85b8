import { expect, test } from "vitest";
import { formatError } from "../../src/tracing/tape/error-text.ts";

const never = (): void => {
  throw new Error("nothing is cut");
};

test("an error is its name, message and stack", () => {
  expect(formatError(new TypeError("bad"), never)).toMatch(/^TypeError: bad\n {4}at /);
});

test("causes follow, each once, also in a cycle", () => {
  const inner: Error & { cause?: unknown } = new Error("inner");
  const outer = new Error("outer", { cause: inner });
  inner.cause = outer;
  const text = formatError(outer, never);
  expect(text.match(/Error: outer/g)).toHaveLength(1);
  expect(text).toContain("Caused by: Error: inner");
});

test("the errors of an AggregateError follow, with their causes, up to a limit", () => {
  const withCause = new Error("first", { cause: new TypeError("deep") });
  const text = formatError(new AggregateError([withCause, "second"], "all failed"), never);
  expect(text).toMatch(
    /^AggregateError: all failed\n[^]*\nReason: Error: first\n[^]*\nCaused by: TypeError: deep\n[^]*\nReason: second$/,
  );
  const many = new AggregateError(
    Array.from({ length: 20 }, (_, index) => `reason ${index}`),
    "many",
  );
  expect(formatError(many, never)).toMatch(/\nReason: reason 7\nand 12 more reasons$/);
});

test("an AggregateError that contains itself, or whose errors can't be read, is recorded", () => {
  const errors: unknown[] = ["other"];
  const cyclic = new AggregateError([], "cyclic");
  errors.push(cyclic);
  Object.defineProperty(cyclic, "errors", { value: errors });
  expect(formatError(cyclic, never).match(/AggregateError: cyclic/g)).toHaveLength(1);
  expect(formatError(cyclic, never)).toMatch(/\nReason: other$/);
  const hostile = Object.defineProperty(new AggregateError([], "hostile"), "errors", {
    get: () => {
      throw new Error("unreadable");
    },
  });
  expect(formatError(hostile, never)).toMatch(/^AggregateError: hostile/);
});

test("a message that changed after the stack was captured is included", () => {
  const error = new Error("before");
  error.message = "after";
  expect(formatError(error, never)).toMatch(/^Error: after\n/);
});

test.each([
  ["text", "text"],
  [42, "42"],
  [null, "null"],
  [undefined, "undefined"],
  [{ code: 7 }, '{"code":7}'],
  ["", "[an empty string was thrown]"],
])("a thrown value that is no error is recorded as it is: %j", (thrown, text) => {
  expect(formatError(thrown, never)).toBe(text);
});

test("a hostile error is recorded as far as it can be read", () => {
  const hostile = Object.defineProperties(new Error("still told"), {
    stack: {
      get: () => {
        throw new Error("no stack for you");
      },
    },
  });
  expect(formatError(hostile, never)).toBe("Error: still told");
  const refuses = new Proxy(
    {},
    {
      get: () => {
        throw new Error("nothing for you");
      },
    },
  );
  expect(formatError(refuses, never)).toBe("[a thrown value that can't be converted to text]");
});

test("a message beyond 65,536 characters is truncated with a marker, and reported once", () => {
  let cuts = 0;
  const error = new Error(`${"x".repeat(65_528)}🌊${"y".repeat(500)}`, {
    cause: new Error("z".repeat(100_000)),
  });
  const text = formatError(error, () => {
    cuts += 1;
  });
  expect(text).toMatch(/^Error: x+…\[truncated: \d+ more characters\]\nCaused by: Error: z+…/);
  expect(text.isWellFormed()).toBe(true);
  expect(text.length).toBeLessThan(2 * 65_536 + 200);
  expect(cuts).toBe(1);
});

test("messages that together exceed the maximum string length are recorded in part", () => {
  const error = new Error("a", { cause: new Error("b") });
  const longest = "x".repeat(2 ** 29 - 100);
  Object.assign(error, { message: longest, stack: longest });
  Object.assign(error.cause as Error, { message: longest, stack: longest });
  expect(formatError(error, () => undefined)).toMatch(/\[truncated: \d{9} more characters\]$/);
});

test("a thrown object that is a graph of 2 ** 40 paths is not walked to its end", () => {
  let graph: unknown = 1;
  for (let i = 0; i < 40; i++) {
    graph = [graph, graph];
  }
  expect(formatError(graph, never)).toBe("[a thrown value that can't be converted to text]");
});
