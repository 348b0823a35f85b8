import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { excluded, methodsOf, resources, publicMethods, versions } from "./langsmith/methods.ts";

describe.each(versions)("%s", (version) => {
  const assigned = resources.flatMap((resource) => methodsOf(resource, version));

  test("has no public method that is neither called by a test nor excluded with a reason", () => {
    const knownMethods = new Set([...assigned, ...Object.keys(excluded[version])]);
    expect(publicMethods(version).filter((name) => !knownMethods.has(name))).toEqual([]);
  });

  test("has every method that the tests name, and each is listed once", () => {
    const existingMethods = new Set(publicMethods(version));
    const named = [...assigned, ...Object.keys(excluded[version])];
    expect(named.filter((name) => !existingMethods.has(name))).toEqual([]);
    expect(named.filter((name, index) => named.indexOf(name) !== index)).toEqual([]);
  });
});

test.each(resources)("the methods of %s have a test file", (resource) => {
  expect(existsSync(new URL(`langsmith-${resource}.test.ts`, import.meta.url))).toBe(true);
});
