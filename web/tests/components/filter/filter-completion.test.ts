import { describe, expect, test } from "vitest";
import {
  completeFilter,
  applySuggestion,
  toValueSuggestions,
} from "../../../src/components/filter/filter-completion.ts";
import {
  readConditionField,
  joinConditions,
  splitConditions,
  addCondition,
  removeConditions,
  replaceCondition,
} from "../../../src/components/filter/filter-conditions.ts";
import { filterWords } from "../../support/filter-words.ts";

/** Completes a filter in which `|` marks the cursor. */
function complete(marked: string) {
  const cursor = marked.indexOf("|");
  const filter = marked.replace("|", "");
  return { filter, completion: completeFilter(filter, cursor, filterWords) };
}

const labels = (marked: string): string[] =>
  complete(marked).completion.suggestions.map(({ label }) => label);

/** The filter after the suggestion with this label was inserted; `|` marks the cursor. */
function take(marked: string, label: string): string {
  const { filter, completion } = complete(marked);
  const suggestion = completion.suggestions.find((candidate) => candidate.label === label);
  if (suggestion === undefined) {
    throw new Error(
      `no ${label} among ${completion.suggestions.map((candidate) => candidate.label).join(" ")}`,
    );
  }
  const taken = applySuggestion(filter, completion, suggestion);
  return `${taken.filter.slice(0, taken.cursor)}|${taken.filter.slice(taken.cursor)}`;
}

describe("the suggestions for a filter", () => {
  test("are conditions as people type them, the most common fields first", () => {
    expect(labels("|").slice(0, 3)).toEqual(["status = …", "model = …", "name = …"]);
    expect(labels("|")).toContain("metadata. …");
    expect(labels("|").join(" ")).not.toContain("(");
    expect(labels("la|")).toEqual(["latency > …"]);
    expect(labels("st|")).toEqual(["status = …", "start_time >= …"]);
    expect(take("lat|", "latency > …")).toBe("latency > |");
    expect(take("name = a and tag|", "tags has …")).toBe('name = a and tags has "|');
    expect(take("name = a an|", "and …")).toBe("name = a and |");
    expect(take("ex|", "exists(metadata.key)")).toBe("exists(|");
    expect(labels("g|")).toEqual([]);
  });

  test("of values have no description, because that of the field is not about the value", () => {
    for (const marked of ["status = |", "status = error|", "eq(is_root, |", "latency = n|"]) {
      const { suggestions } = complete(marked).completion;
      expect(suggestions.length).toBeGreaterThan(0);
      expect(suggestions.map(({ detail }) => detail).join("")).toBe("");
    }
  });

  test("within a path of metadata are its keys, with an operator after them", () => {
    const request = complete("metadata.us|").completion.valueRequest;
    expect(request).toEqual({
      kind: "metadata_key",
      prefix: "us",
      before: "metadata.",
      after: " = ",
    });
    expect(
      request && toValueSuggestions(["user"], request).map(({ insertedText }) => insertedText),
    ).toEqual(["metadata.user = "]);
  });

  test("are functions where one is expected, and fields together with a function", () => {
    expect(labels('and(eq(name, "a"), ne|')).toEqual(["neq(field, value)"]);
    expect(take("and(lat|)", "eq(latency…")).toBe("and(eq(latency, |)");
    expect(take("and(met|)", "eq(metadata.…")).toBe("and(eq(metadata.|)");
  });

  test("within a comparator are the fields that it can compare", () => {
    expect(labels("gt(|")).toContain("latency");
    expect(labels("gt(|")).not.toContain("name");
    expect(labels("eq(sta|")).toEqual(["status", "start_time"]);
    expect(take("eq(sta|", "status")).toBe("eq(status, |");
  });

  test("for a choice field are its values, whether or not the quote is already typed", () => {
    expect(labels("eq(status, |")).toEqual(['"success"', '"error"', '"pending"']);
    expect(take('eq(status, "er|', '"error"')).toBe('eq(status, "error")|');
    expect(take('and(eq(status, "e|"), eq(is_root, true))', '"error"')).toBe(
      'and(eq(status, "error"|), eq(is_root, true))',
    );
    expect(labels("eq(is_root, |")).toEqual(["true", "false"]);
    expect(labels("eq(latency, n|")).toEqual(["null"]);
    expect(labels("model = n|")).toEqual(["null"]);
  });

  test("for exists alone are complete with a field", () => {
    expect(take("exists(mod|", "model")).toBe("exists(model)|");
    expect(take("exists(mod|)", "model")).toBe("exists(model|)");
  });

  test("request the values that occur in runs from the server", () => {
    expect(complete('has(tags, "pr|').completion.valueRequest).toEqual({
      kind: "tag",
      prefix: "pr",
      before: "",
      after: ")",
    });
    expect(complete('eq(metadata.user, "|').completion.valueRequest).toMatchObject({
      kind: "metadata_value",
      key: "user",
    });
    expect(complete("eq(metadata.us|").completion.valueRequest).toMatchObject({
      kind: "metadata_key",
      prefix: "us",
    });
    expect(
      complete('and(eq(metadata_key, "user"), eq(metadata_value, "|').completion.valueRequest,
    ).toMatchObject({ kind: "metadata_value", key: "user" });
    expect(complete('eq(metadata_value, "|').completion.valueRequest).toBeUndefined();
    expect(complete('in(name, ["a", "b|').completion.valueRequest).toMatchObject({
      kind: "name",
      prefix: "b",
    });
  });

  test("are values after an operator, without quotes where none are needed", () => {
    expect(labels("name = s|")).toEqual([]);
    expect(complete("name = s|").completion.valueRequest).toEqual({
      kind: "name",
      prefix: "s",
      before: "",
      after: "",
      isPlain: true,
    });
    for (const typed of ["model =|", "model = |", "model != gpt-5|", 'eq(model, "g|']) {
      expect(complete(typed).completion.valueRequest).toMatchObject({
        kind: "metadata_value",
        key: "ls_model_name",
      });
    }
    expect(labels("model = |")).toEqual(["null"]);
    expect(labels("status =|")).toEqual(["success", "error", "pending"]);
    expect(take("status = er|", "error")).toBe("status = error|");
    expect(take('status = "er|', '"error"')).toBe('status = "error"|');
    expect(complete('tags has "pr|').completion.valueRequest).toMatchObject({ kind: "tag" });
    expect(complete('name contains "s|').completion.valueRequest?.isPlain).toBeUndefined();
    expect(labels("name = support and sta|")).toContain("status = …");
    const request = complete("name = |").completion.valueRequest;
    expect(
      request && toValueSuggestions(["a-b", "two words", "5"], request).map((s) => s.insertedText),
    ).toEqual(["a-b", '"two words"', '"5"']);
  });

  test("quote the server's values, and leave out keys that can't be a path", () => {
    const value = complete('eq(metadata.user, "|').completion.valueRequest;
    const key = complete("eq(metadata.|").completion.valueRequest;
    expect(value && toValueSuggestions(['say "hi"'], value)[0]?.insertedText).toBe(
      String.raw`"say \"hi\"")`,
    );
    expect(
      key && toValueSuggestions(["user", "two words"], key).map(({ insertedText }) => insertedText),
    ).toEqual(["metadata.user, "]);
  });

  test("are empty after a complete filter", () => {
    expect(labels('eq(name, "a")|')).toEqual([]);
    expect(labels('and(eq(name, "a"), |)')).toContain("and(a, b, …)");
  });

  test("are empty for an unknown field, and an incomplete text causes no error", () => {
    expect(labels("eq(nothing, |")).toEqual([]);
    for (const incomplete of ['eq(name, "\\', "eq(name, '", ")))", ",,(", "é", '"']) {
      expect(() => completeFilter(incomplete, incomplete.length, filterWords)).not.toThrow();
    }
  });
});

describe("the conditions of a filter", () => {
  const parts = ['eq(status, "error")', 'or(eq(name, "a, (b"), has(tags, "c"))', "gt(latency, 5)"];

  test("are the arguments of its outermost `and`, and can be joined again", () => {
    expect(splitConditions(joinConditions(parts))).toEqual(parts);
    expect(splitConditions(parts[0] ?? "")).toEqual([parts[0]]);
    expect(splitConditions("  ")).toEqual([]);
    expect(splitConditions('in(name, ["a", "b"])')).toEqual(['in(name, ["a", "b"])']);
  });

  test("are the whole text if the filter is incomplete", () => {
    for (const incomplete of ["and(eq(a, 1)", "and(eq(a, 1)) or(b)", "and"]) {
      expect(splitConditions(incomplete)).toEqual([incomplete]);
    }
  });

  test("can be added, replaced and removed", () => {
    const isStatus = (part: string): boolean => readConditionField(part) === "status";
    expect(addCondition("", "gt(latency, 5)")).toBe("gt(latency, 5)");
    expect(addCondition(joinConditions(parts), 'eq(status, "success")', isStatus)).toBe(
      joinConditions([...parts.slice(1), 'eq(status, "success")']),
    );
    expect(removeConditions('and(eq(status, "error"), gt(latency, 5))', isStatus)).toBe(
      "gt(latency, 5)",
    );
  });

  test("that were one condition stay one when it is edited", () => {
    const scored = 'and(eq(feedback_key, "a"), gt(feedback_score, 0))';
    const edited = 'and(eq(feedback_key, "a"), gt(feedback_score, 1))';
    expect(replaceCondition(`and(${scored}, gt(latency, 5))`, scored, edited)).toBe(
      `and(${edited}, gt(latency, 5))`,
    );
    expect(replaceCondition(`and(${scored}, gt(latency, 5))`, scored, "")).toBe("gt(latency, 5)");
    expect(replaceCondition("and(gt(latency, 5), eq(a, 1))", "eq(a, 1)", "and(b, c)")).toBe(
      "and(gt(latency, 5), b, c)",
    );
  });
});
