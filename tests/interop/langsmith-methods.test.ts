import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { excluded, methodsOf, nouns, publicMethods, versions } from "./langsmith/methods.ts";

describe.each(versions)("%s", (version) => {
  const assigned = nouns.flatMap((noun) => methodsOf(noun, version));

  test("has no public method that is neither called by a test nor excluded with a reason", () => {
    const known = new Set([...assigned, ...Object.keys(excluded[version])]);
    expect(publicMethods(version).filter((name) => !known.has(name))).toEqual([]);
  });

  test("has every method that the tests name, and each in one place", () => {
    const there = new Set(publicMethods(version));
    const named = [...assigned, ...Object.keys(excluded[version])];
    expect(named.filter((name) => !there.has(name))).toEqual([]);
    expect(named.filter((name, index) => named.indexOf(name) !== index)).toEqual([]);
  });
});

test.each(nouns)("the methods of %s have a file of tests", (noun) => {
  expect(existsSync(new URL(`langsmith-${noun}.test.ts`, import.meta.url))).toBe(true);
});
