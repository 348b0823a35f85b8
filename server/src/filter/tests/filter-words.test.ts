import { describe, expect, test } from "vitest";
import { printFilter } from "../ast.ts";
import { checkFilter, describeFields } from "../checker.ts";
import { exampleFields, runFields, selectRunFields } from "../fields.ts";
import { FilterError } from "../filter-error.ts";
import { parseFilter } from "../infix-parser.ts";

const print = (text: string): string => printFilter(parseFilter(text, describeFields(runFields)));

describe("words and operators are other forms of functions", () => {
  test.each([
    ["refund", 'search("refund")'],
    ["refund timeout", 'and(search("refund"), search("timeout"))'],
    ['"my order" 117', 'and(search("my order"), search("117"))'],
    [
      "user@host.test it's 50% #3 https://a.test/b?c",
      'and(search("user@host.test"), search("it\'s"), search("50%"), search("#3"), search("https://a.test/b?c"))',
    ],
    ["latency > 5s", 'gt(latency, "5s")'],
    ["latency > 5 s", 'gt(latency, "5s")'],
    ["latency > 5 ms refund", 'and(gt(latency, "5ms"), search("refund"))'],
    ["latency > 5 seconds", 'and(gt(latency, 5), search("seconds"))'],
    ["total_tokens > 5 s", 'and(gt(total_tokens, 5), search("s"))'],
    ["latency>=1.5", "gte(latency, 1.5)"],
    ["latency < 200ms", 'lt(latency, "200ms")'],
    ["start_time <= 2026-01-31", 'lte(start_time, "2026-01-31")'],
    ["status = error", 'eq(status, "error")'],
    ["status == 'error'", 'eq(status, "error")'],
    ["name != ask", 'neq(name, "ask")'],
    ["error <> null", "neq(error, null)"],
    ["is_root = true", "eq(is_root, true)"],
    ["metadata.user = u1", 'eq(metadata.user, "u1")'],
    ['name in ["a", b]', 'in(name, ["a", "b"])'],
    ["total_tokens in [1, 20]", "in(total_tokens, [1, 20])"],
    ['name in ("a", "b")', 'in(name, ["a", "b"])'],
    ["name in (a, b) or c", 'or(in(name, ["a", "b"]), search("c"))'],
    ['name in ("a")', 'in(name, ["a"])'],
    ["name not in [turn]", 'not(in(name, ["turn"]))'],
    [
      'a name NOT IN ("turn", b) or c',
      'or(and(search("a"), not(in(name, ["turn", "b"]))), search("c"))',
    ],
    ["not name not in [turn]", 'not(not(in(name, ["turn"])))'],
    ['refund not in(name, ["a"])', 'and(search("refund"), not(in(name, ["a"])))'],
    ["first_token > 500ms", 'gt(first_token, "500ms")'],
    ["total_cost > $0.01", 'gt(total_cost, "$0.01")'],
    ['refund in(name, ["a"])', 'and(search("refund"), in(name, ["a"]))'],
    ['refund in (name, ["a"])', 'and(search("refund"), in(name, ["a"]))'],
    ['name like "a%"', 'like(name, "a%")'],
    ['tags has "prod"', 'has(tags, "prod")'],
    ['error contains "429"', 'search(error, "429")'],
    ['latency > 5s and model = "gpt-5"', 'and(gt(latency, "5s"), eq(model, "gpt-5"))'],
    ["a or b and c", 'or(search("a"), and(search("b"), search("c")))'],
    ["(a or b) AND c", 'and(or(search("a"), search("b")), search("c"))'],
    ["not a b", 'and(not(search("a")), search("b"))'],
    ["not (a b)", 'not(and(search("a"), search("b")))'],
    ['eq(status, "error") and latency > 5s', 'and(eq(status, "error"), gt(latency, "5s"))'],
    ['refund eq(name, "(")', 'and(search("refund"), eq(name, "("))'],
    [
      'and(eq(name, "a"), eq(name, "b")) or c',
      'or(and(eq(name, "a"), eq(name, "b")), search("c"))',
    ],
    ['not(eq(name, "a")) and b', 'and(not(eq(name, "a")), search("b"))'],
    [
      "latency > 5s and (status = error or status = success)",
      'and(gt(latency, "5s"), or(eq(status, "error"), eq(status, "success")))',
    ],
    [
      'status = error and (name = "a" or name = "b")',
      'and(eq(status, "error"), or(eq(name, "a"), eq(name, "b")))',
    ],
    ["refund and (status = error)", 'and(search("refund"), eq(status, "error"))'],
    ["refund and(status = error)", 'and(search("refund"), eq(status, "error"))'],
    ["(a) and (b or c)", 'and(search("a"), or(search("b"), search("c")))'],
    ["(a)and(b or c)", 'and(search("a"), or(search("b"), search("c")))'],
    ["a AND (b OR (c))", 'and(search("a"), or(search("b"), search("c")))'],
    ["a And(b Or(c))", 'and(search("a"), or(search("b"), search("c")))'],
    ["(a and b) or (c and d)", 'or(and(search("a"), search("b")), and(search("c"), search("d")))'],
    ["a or(b and c)", 'or(search("a"), and(search("b"), search("c")))'],
    ["a and not (b or c)", 'and(search("a"), not(or(search("b"), search("c"))))'],
    ["a not(b or c)", 'and(search("a"), not(or(search("b"), search("c"))))'],
    ["a Not(status = error)", 'and(search("a"), not(eq(status, "error")))'],
    ["not (a) and (not (b))", 'and(not(search("a")), not(search("b")))'],
    ["exists(metadata.a) and (b or c)", 'and(exists(metadata, "a"), or(search("b"), search("c")))'],
    ['refund and (eq(name, "a"))', 'and(search("refund"), eq(name, "a"))'],
    [
      'refund and or(eq(name, "a"), eq(name, "b"))',
      'and(search("refund"), or(eq(name, "a"), eq(name, "b")))',
    ],
    [
      'refund or and(eq(name, "a"), eq(name, "b"))',
      'or(search("refund"), and(eq(name, "a"), eq(name, "b")))',
    ],
    [
      '(and(eq(name, "a"), eq(name, "b")) or c)',
      'or(and(eq(name, "a"), eq(name, "b")), search("c"))',
    ],
    // This form was always accepted, so stored filters may contain it.
    [
      'refund and(eq(name, "a"), or(eq(name, "b"), exists(metadata.b)))',
      'and(search("refund"), and(eq(name, "a"), or(eq(name, "b"), exists(metadata, "b"))))',
    ],
    [
      "search for the word in it",
      'and(search("search"), search("for"), search("the"), search("word"), search("in"), search("it"))',
    ],
  ])("%s is %s", (text, functions) => {
    expect(print(text)).toBe(functions);
    expect(print(print(text))).toBe(functions);
    expect(() => checkFilter(text, runFields)).not.toThrow();
  });

  test.each([
    ["a and (b, c)", "unexpected ,; put a text that contains it in quotes", 8],
    ["a and ((b), c)", "expected a word or a condition such as latency > 5s, found ,", 10],
    ["a and (", "expected a word or a condition", 7],
    ["a and and (b)", "unknown function `b`", 11],
    ["a and", "expected a word or a condition", 5],
    ["or (b)", "unknown function `b`", 4],
  ])("%s is refused where it is wrong", (text, reason, offset) => {
    expect(() => parseFilter(text)).toThrow(
      expect.objectContaining({ offset, message: expect.stringContaining(reason) as unknown }),
    );
  });

  test("a model is compared with the metadata that names it", () => {
    expect(checkFilter('model = "gpt-5"', runFields)).toEqual(
      checkFilter('eq(metadata.ls_model_name, "gpt-5")', runFields),
    );
    expect(() => checkFilter('model = "gpt-5"', exampleFields)).toThrow(FilterError);
  });

  test("a model is absent from a list of traces if none of their runs calls one", () => {
    const traceFields = selectRunFields(true);
    for (const [filter, meant] of [
      ["model = null", "trace_model = null"],
      ["model != null", "trace_model != null"],
      ["exists(model)", "neq(trace_model, null)"],
    ] as const) {
      expect(checkFilter(filter, traceFields)).toEqual(checkFilter(meant, traceFields));
    }
    expect(() => checkFilter("exists(model)", exampleFields)).toThrow("unknown field `model`");
  });

  test("exists with a field alone is printed as it is written, and combined with other forms", () => {
    expect(print("exists( model ) a")).toBe('and(exists(model), search("a"))');
    expect(print("not exists(model) && not exists(error)")).toBe(
      "and(not(exists(model)), not(exists(error)))",
    );
  });

  test("a cost can be written with a dollar sign, and first_token with a unit", () => {
    expect(checkFilter("cost > $0.01", runFields)).toEqual(
      checkFilter("gt(total_cost, 0.01)", runFields),
    );
    expect(checkFilter("first_token > 500ms", runFields)).toEqual(
      checkFilter("gt(first_token, 0.5)", runFields),
    );
    expect(() => checkFilter("total_tokens > $5", runFields)).toThrow("takes a number");
  });

  test("words search examples, too", () => {
    expect(checkFilter("refund", exampleFields)).toEqual({ kind: "search", text: "refund" });
  });

  test("positions are those of the whole text", () => {
    expect(parseFilter("refund and  latency > 5s")).toMatchObject({
      offset: 0,
      length: 24,
      parts: [
        { offset: 0, length: 6 },
        { offset: 12, length: 12, operand: { offset: 22 } },
      ],
    });
    expect(parseFilter('x eq(name, "a")')).toMatchObject({
      parts: [{}, { field: { offset: 5, length: 4 } }],
    });
  });

  // The limits hold for the whole filter, not for each of its functions or parentheses.
  test.each([
    ["parentheses", "( ".repeat(5_000), "levels deep"],
    ["nots", "not ".repeat(2_500), "levels deep"],
    ["words", "a ".repeat(5_000), "more than 256 conditions"],
    ["alternatives", `${"a or ".repeat(1_900)}a`, "more than 256 conditions"],
    ["characters of a word", "a".repeat(10_000), "more than 1000 characters"],
    ["functions side by side", 'eq(name, "a") '.repeat(300), "more than 256 conditions"],
    ["and within or, nested", `${"( a or b ".repeat(7)}c${")".repeat(7)}`, "levels deep"],
    [
      "functions within parentheses",
      `${"( a or ".repeat(6)}${"not(".repeat(8)}eq(name, "a")${")".repeat(14)}`,
      "levels deep",
    ],
  ])("too many %s are refused", (_name, text, reason) => {
    expect(() => parseFilter(text.slice(0, 10_000))).toThrow(reason);
  });
});
