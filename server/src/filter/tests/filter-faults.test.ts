import { describe, expect, test } from "vitest";
import { checkFilter } from "../checker.ts";
import { exampleFields, runFields } from "../fields.ts";
import { FilterError } from "../filter-error.ts";

/** Returns the error that parsing a filter throws. */
function faultOf(text: string, fields = runFields): FilterError {
  try {
    checkFilter(text, fields);
  } catch (cause) {
    if (cause instanceof FilterError) {
      return cause;
    }
    throw cause;
  }
  throw new Error(`no fault in ${text}`);
}

const steps =
  'a path segment consists of letters, digits, _ and -; for other keys use and(eq(metadata_key, "…"), …)';

describe("a fault", () => {
  const fields = [...runFields.keys()].join(", ");
  const functions =
    "functions are and, or, not, eq, neq, gt, gte, lt, lte, in, has, exists, search, like";

  test("reports its position, what was found and what is allowed, and marks it", () => {
    expect(faultOf('eq(nam, "a")').message).toBe(
      `unknown field \`nam\`, did you mean \`name\`? fields are ${fields} (offset 3, line 1, column 4)\n` +
        '  eq(nam, "a")\n' +
        "     ^^^",
    );
  });

  test("has a line and a column", () => {
    const fault = faultOf('and(\n  eq(name, "a"),\n\tgtt(latency, 5)\n)');
    expect([fault.offset, fault.line, fault.column]).toEqual([23, 3, 2]);
    expect(fault.message.split("\n").slice(1)).toEqual(["   gtt(latency, 5)", "   ^^^"]);
  });

  test("far into a long line is shown with the text around it", () => {
    const { message } = faultOf(
      `and(${'eq(name, "a"), '.repeat(20)}eq(nope, 1)${', eq(name, "a")'.repeat(20)})`,
    );
    const [, excerpt = "", carets = ""] = message.split("\n");
    expect(excerpt).toMatch(/^ {2}….{80}…$/);
    expect(excerpt.slice(carets.indexOf("^"), carets.length)).toBe("nope");
  });

  test.each<[string, string, number]>([
    ["", "expected a function, found the end of the filter; ", 0],
    ["name()", "unknown function `name`; ", 0],
    ["And(eq(name, 'a'))", "unknown function `And`, did you mean `and`? ", 0],
    ["and()", "expected a function, found ); ", 4],
  ])("in %j lists the functions", (text, reason, offset) => {
    const fault = faultOf(text);
    expect(fault.message).toContain(`${reason}${functions} (offset ${offset},`);
  });

  test.each<[string, string, number]>([
    ['eq(name "a")', "expected , after the field of eq, found a quoted text", 8],
    ['eq("name", "a")', "expected a field, found a quoted text; eq takes a field and a value", 3],
    [
      "search(5)",
      'expected a field, found the number 5; search takes a field and a value or a quoted text, as in search("text")',
      7,
    ],
    ['eq(name, "a"', "expected ) after the value of eq, found the end of the filter", 12],
    ['eq(name, "a", "b")', "expected ) after the value of eq, found ,", 12],
    ['eq(name, "a"))', "expected the end of the filter, found )", 13],
    [
      'eq(name, "a") and',
      "expected a word or a condition such as latency > 5s, found the end of the filter",
      17,
    ],
    ["latency >", "expected a value, found the end of the filter", 9],
    ["latency > 5 or or", "expected a word or a condition such as latency > 5s, found `or`", 15],
    ["> 5", "expected a word or a condition such as latency > 5s, found an operator", 0],
    ["5x = 5", "expected a field before the operator, found `5x`", 0],
    [
      "(latency > 5",
      "expected ) after the conditions in parentheses, found the end of the filter",
      12,
    ],
    ["latency > 5)", "expected the end of the filter, found )", 11],
    ["name in [a, b", "expected ] after the values of in, found the end of the filter", 13],
    ["one, two", "unexpected ,; put a text that contains it in quotes", 3],
    [
      "latncy > 5",
      `unknown field \`latncy\`, did you mean \`latency\`? fields are ${[...runFields.keys()].join(", ")}`,
      0,
    ],
    [
      "refund and latency > soon",
      '`latency` takes seconds as a number, or a text such as "1.5s", "200ms", "2m", "1h", or null',
      21,
    ],
    [
      "refund and eq(nam, 'a')",
      `unknown field \`nam\`, did you mean \`name\`? fields are ${[...runFields.keys()].join(", ")}`,
      14,
    ],
    [
      "eq(run_type, llm)",
      'expected a value, found `llm`; values are quoted texts, numbers, true, false, null, or a list of them in [ ]; did you mean "llm"?',
      13,
    ],
    [
      "eq(error, None)",
      "expected a value, found `None`; values are quoted texts, numbers, true, false, null, or a list of them in [ ]; did you mean null?",
      10,
    ],
    [
      "in(name, [])",
      "expected a value, found ]; values are quoted texts, numbers, true, false, null, or a list of them in [ ]",
      10,
    ],
    [
      "in(name, [[1]])",
      "expected a value, found [; values are quoted texts, numbers, true, false, null, or a list of them in [ ]",
      10,
    ],
    ['in(name, ["a" "b"])', "expected , or ], found a quoted text", 14],
    ['in(name, "a")', "in takes a list of values in [ ]", 9],
    ['eq(name, ["a"])', "eq takes one value; use in for a list", 9],
    ['not(eq(name, "a"), eq(name, "b"))', "expected ) after the argument of not, found ,", 17],
    ['eq(name, "a', 'the text that begins here has no closing "', 9],
    [
      String.raw`eq(name, "\d")`,
      String.raw`unknown escape ${"`"}\d${"`"}; escapes are \" \' \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`,
      10,
    ],
    [
      "eq(name; 'a')",
      "unexpected `;`; expected a name, a quoted text, a number, or one of ( ) [ ] ,",
      7,
    ],
    [
      "eq(latency, 1e999)",
      "unexpected `1e999`; expected a name, a quoted text, a number, or one of ( ) [ ] ,",
      12,
    ],
    ["gt(name, 'a')", "gt can't be used with `name`; it supports eq, neq, in, like, search", 0],
    ["has(name, 'a')", "has can't be used with `name`; it supports eq, neq, in, like, search", 0],
    ["eq(metadata, 'a')", "eq can't be used with `metadata`; it supports has, exists, search", 0],
    ["neq(inputs.a.b, ['a'])", "neq takes one value; use in for a list", 16],
    ["gt(metadata.a, null)", "gt can't compare with null", 15],
    [
      "has(metadata.a, 'b')",
      `has takes a JSON object in quotes, as in has(metadata.a, '{"key": "value"}'); to test for a key, use exists(metadata.a, "key")`,
      16,
    ],
    ["exists(metadata.a, '')", "exists takes a text that is not empty", 19],
    ["exists(name)", "exists can't be used with `name`; it supports eq, neq, in, like, search", 0],
    [
      "a exists(feedback_score)",
      "exists can't be used with `feedback_score`; it supports eq, neq, in, gt, gte, lt, lte",
      2,
    ],
    [
      "exists(modle)",
      `unknown field \`modle\`, did you mean \`model\`? fields are ${[...runFields.keys()].join(", ")}`,
      7,
    ],
    ["exists(metadata, null)", "exists takes a text that is not empty", 17],
    [
      "exists(name.a)",
      "exists can't be used with `name`; it supports eq, neq, in, like, search",
      0,
    ],
    [
      "eq(metdata.a, 1)",
      `unknown field \`metdata\`, did you mean \`metadata\`? fields are ${[...runFields.keys()].join(", ")}`,
      3,
    ],
    [
      "exists(metdata.a)",
      `unknown field \`metdata\`, did you mean \`metadata\`? fields are ${[...runFields.keys()].join(", ")}`,
      7,
    ],
    [
      "eq(tags.a, 1)",
      `unknown field \`tags.a\`; fields are ${[...runFields.keys()].join(", ")}`,
      3,
    ],
    ["eq(metadata.<path>, 1)", `unexpected \`.\`; ${steps}`, 11],
    ["eq(metadata., 1)", `unexpected \`.\`; ${steps}`, 11],
    ["eq(metadata..a, 1)", `unexpected \`..a\`; ${steps}`, 11],
    ["exists(metadata.a.)", `unexpected \`.\`; ${steps}`, 17],
    ["eq(metadata.a[0], 1)", "expected , after the field of eq, found [", 13],
    ["eq(metadata.a'b, 1)", "the text that begins here has no closing '", 13],
    ['eq(metadata."a b", 1)', `unexpected \`.\`; ${steps}`, 11],
    ["eq(metadata.a:b, 1)", `unexpected \`:\`; ${steps}`, 13],
    ["eq(metadata.caf\u00e9, 1)", `unexpected \`\u00e9\`; ${steps}`, 15],
    [
      `eq(metadata${".a".repeat(65)}, 1)`,
      `\`metadata${".a".repeat(16)}\u2026\` has more than 64 segments`,
      3,
    ],
    [
      `exists(metadata${".a".repeat(65)})`,
      `\`metadata${".a".repeat(16)}\u2026\` has more than 64 segments`,
      7,
    ],
    ["eq(id, 'a')", "`id` takes a UUID in quotes", 7],
    ["eq(parent_run_id, 5)", "`parent_run_id` takes a UUID in quotes, or null", 18],
    ["eq(name, 5)", "`name` takes a quoted text", 9],
    ["eq(name, null)", "`name` takes a quoted text", 9],
    ["in(name, ['a', 5])", "`name` takes a quoted text", 15],
    [
      "eq(status, 'done')",
      "`status` takes one of its texts in quotes: success, error, pending",
      11,
    ],
    [
      "gt(latency, 'soon')",
      '`latency` takes seconds as a number, or a text such as "1.5s", "200ms", "2m", "1h", or null',
      12,
    ],
    ["gt(latency, null)", "gt can't compare with null", 12],
    ["gt(metadata_value, true)", "gt can't compare with true", 19],
    [
      "gt(start_time, 'noon')",
      "`start_time` takes an ISO 8601 time or day in quotes, or epoch milliseconds",
      15,
    ],
    [
      "eq(start_time, '2024-02-30')",
      "`start_time` takes an ISO 8601 time or day in quotes, or epoch milliseconds",
      15,
    ],
    ["eq(is_root, 1)", "`is_root` takes true or false", 12],
    ["eq(feedback_score, 'a')", "`feedback_score` takes a number, or null", 19],
    ["search('')", "search takes a text that is not empty", 7],
    ["like(name, 5)", "like takes a text that is not empty", 11],
    [String.raw`like(name, "\u0000%")`, "a like pattern can't contain the character U+0000", 11],
    [
      "has(metadata, 'key')",
      `has takes a JSON object in quotes, as in has(metadata, '{"key": "value"}'); to test for a key, use exists(metadata, "key")`,
      14,
    ],
    [
      "has(metadata, '[1]')",
      `has takes a JSON object in quotes, as in has(metadata, '{"key": "value"}'); to test for a key, use exists(metadata, "key")`,
      14,
    ],
    [
      "has(metadata, 5)",
      `has takes a JSON object in quotes, as in has(metadata, '{"key": "value"}')`,
      14,
    ],
    [
      `has(metadata, '{"a":${"[".repeat(4)}${"]".repeat(4)}}')`,
      "the JSON object has more than 2 nested lists of lists or objects",
      14,
    ],
    [
      `has(metadata.a, '{"a":${"[".repeat(3)}${"]".repeat(3)}}')`,
      "the JSON object has more than 1 nested lists of lists or objects",
      16,
    ],
    [
      `has(metadata, '${'{"a":'.repeat(32)}1${"}".repeat(32)}')`,
      "the JSON object has more than 256 values, or more than 32 levels",
      14,
    ],
    [
      `${"not(".repeat(12)}eq(name, "a")${")".repeat(12)}`,
      "functions are nested more than 12 levels deep",
      48,
    ],
    [`or(${'eq(name, "a"), '.repeat(256)}eq(name, "a"))`, "more than 256 functions", 3 + 255 * 15],
    [
      `eq(name, "${"a".repeat(10_000)}")`,
      "the filter has 10012 characters; up to 10000 are allowed",
      10_000,
    ],
  ])("in %s", (text, reason, offset) => {
    const { message, offset: found, column } = faultOf(text);
    const [first = "", , carets = ""] = message.split("\n");
    expect(first).toBe(`${reason} (offset ${offset}, line 1, column ${offset + 1})`);
    expect([found, column]).toEqual([offset, offset + 1]);
    expect(carets).toMatch(/^ {2,}\^+$/);
  });

  test("omits control characters and NUL from the excerpt", () => {
    expect(faultOf('eq(name, "\0\u0007") = >').message.split("\n").slice(1)).toEqual([
      '  eq(name, "  ") = >',
      "                 ^",
    ]);
  });

  test("of examples names the fields of examples", () => {
    expect(faultOf('eq(run_type, "llm")', exampleFields).message).toContain(
      `fields are ${[...exampleFields.keys()].join(", ")} (`,
    );
  });
});

test.each([
  ["cost > 0.02", "total_cost > 0.02"],
  ["tokens >= 8000 and Duration > 5s", "total_tokens >= 8000 and latency > 5s"],
  ["User_ID != ann", 'neq(user, "ann")'],
  [
    'exists(user, "plan")',
    'or(exists(metadata, "user_id.plan"), exists(metadata, "langfuse_user_id.plan"))',
  ],
  ["type = llm", "run_type = llm"],
])("%s means %s, because columns have that name", (written, meant) => {
  expect(checkFilter(written, runFields)).toEqual(checkFilter(meant, runFields));
});

test.each(["constructor", "toString", "__proto__"])(
  "a member of every object, %s, is no field",
  (name) => {
    expect(faultOf(`${name} = "a"`).message).toContain(`unknown field \`${name}\``);
  },
);

test("a common name is unknown where there is no such field", () => {
  expect(() => checkFilter("cost > 1", exampleFields)).toThrow("unknown field `cost`");
});
