import { describe, expect, test } from "vitest";
import {
  completeFilter,
  applySuggestion,
  toValueSuggestions,
} from "../../../src/components/filter/filter-completion.ts";
import {
  describePart,
  fieldOfPart,
  joinFilterParts,
  toFilterParts,
  withFilterPart,
  withoutFilterParts,
} from "../../../src/components/filter/filter-parts.ts";
import { filterWords } from "../../support/filter-words.ts";

/** The filter with `|` where the cursor stands. */
function complete(marked: string) {
  const cursor = marked.indexOf("|");
  const filter = marked.replace("|", "");
  return { filter, completion: completeFilter(filter, cursor, filterWords) };
}

const labels = (marked: string): string[] =>
  complete(marked).completion.suggestions.map(({ label }) => label);

/** What becomes of the filter when the suggestion of this label is taken. */
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

describe("what a filter can go on with", () => {
  test("begins with functions, by what is typed of their names", () => {
    expect(labels("|")).toContain("and(a, b, …)");
    expect(labels("g|")).toEqual(["gt(field, value)", "gte(field, value)"]);
    expect(labels('and(eq(name, "a"), ne|')).toEqual(["neq(field, value)"]);
  });

  test("a field at the place of a function is written with its function", () => {
    expect(take("lat|", "eq(latency…")).toBe("eq(latency, |");
    expect(take("and(met|)", "eq(metadata.…")).toBe("and(eq(metadata.|)");
  });

  test("within a comparator fields are proposed that it compares", () => {
    expect(labels("gt(|")).toContain("latency");
    expect(labels("gt(|")).not.toContain("name");
    expect(labels("eq(sta|")).toEqual(["status", "start_time"]);
    expect(take("eq(sta|", "status")).toBe("eq(status, |");
  });

  test("values of a choice are proposed with or without the quote that is there", () => {
    expect(labels("eq(status, |")).toEqual(['"success"', '"error"', '"pending"']);
    expect(take('eq(status, "er|', '"error"')).toBe('eq(status, "error")|');
    expect(take('and(eq(status, "e|"), eq(is_root, true))', '"error"')).toBe(
      'and(eq(status, "error"|), eq(is_root, true))',
    );
    expect(labels("eq(is_root, |")).toEqual(["true", "false"]);
    expect(labels("eq(latency, n|")).toEqual(["null"]);
  });

  test("what runs have is asked of the server", () => {
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

  test("the server's words are quoted, and keys that are no path left out", () => {
    const value = complete('eq(metadata.user, "|').completion.valueRequest;
    const key = complete("eq(metadata.|").completion.valueRequest;
    expect(value && toValueSuggestions(['say "hi"'], value)[0]?.insert).toBe(
      String.raw`"say \"hi\"")`,
    );
    expect(
      key && toValueSuggestions(["user", "two words"], key).map(({ insert }) => insert),
    ).toEqual(["metadata.user, "]);
  });

  test("behind a filter that is complete nothing is proposed", () => {
    expect(labels('eq(name, "a")|')).toEqual([]);
    expect(labels('and(eq(name, "a"), |)')).toContain("and(a, b, …)");
  });

  test("nothing is proposed for a field that there is not, and nothing fails in half a text", () => {
    expect(labels("eq(nothing, |")).toEqual([]);
    for (const half of ['eq(name, "\\', "eq(name, '", ")))", ",,(", "é", '"']) {
      expect(() => completeFilter(half, half.length, filterWords)).not.toThrow();
    }
  });
});

describe("the parts of a filter", () => {
  const parts = ['eq(status, "error")', 'or(eq(name, "a, (b"), has(tags, "c"))', "gt(latency, 5)"];

  test("are what it asks for all of, and make it again", () => {
    expect(toFilterParts(joinFilterParts(parts))).toEqual(parts);
    expect(toFilterParts(parts[0] ?? "")).toEqual([parts[0]]);
    expect(toFilterParts("  ")).toEqual([]);
    expect(toFilterParts('in(name, ["a", "b"])')).toEqual(['in(name, ["a", "b"])']);
  });

  test("of what is no filter yet are that text", () => {
    for (const half of ["and(eq(a, 1)", "and(eq(a, 1)) or(b)", "and"]) {
      expect(toFilterParts(half)).toEqual([half]);
    }
  });

  test("are added, replaced and taken away", () => {
    const isStatus = (part: string): boolean => fieldOfPart(part) === "status";
    expect(withFilterPart("", "gt(latency, 5)")).toBe("gt(latency, 5)");
    expect(withFilterPart(joinFilterParts(parts), 'eq(status, "success")', isStatus)).toBe(
      joinFilterParts([...parts.slice(1), 'eq(status, "success")']),
    );
    expect(withoutFilterParts('and(eq(status, "error"), gt(latency, 5))', isStatus)).toBe(
      "gt(latency, 5)",
    );
  });

  test("are shown in fewer marks where they are simple", () => {
    expect(parts.map(describePart)).toEqual([
      "status = error",
      'or(eq(name, "a, (b"), has(tags, "c"))',
      "latency > 5",
    ]);
    expect(describePart('search("refund")')).toBe("contains “refund”");
  });
});
