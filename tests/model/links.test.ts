import { describe, expect, test } from "vitest";
import { toUiUrl, createProjectUrl, extractShareToken } from "../../src/model/links.ts";

describe("addresses of pages", () => {
  test.each([
    ["http://localhost:1984", "http://localhost:1984"],
    ["https://api.example.com", "https://example.com"],
    ["https://eu.api.example.com", "https://eu.example.com"],
    ["https://api.example.com/api/v1", "https://example.com"],
    ["https://example.com/api/v1", "https://example.com"],
    ["https://api.com", "https://api.com"],
    ["https://tools.api.com", "https://tools.api.com"],
    ["https://example.com/api/", "https://example.com"],
    ["https://example.com/tools/api/v1", "https://example.com/tools"],
    ["https://apiary.example.com/apis", "https://apiary.example.com/apis"],
    ["http://[::1]:1984", "http://[::1]:1984"],
  ])("of %s: %s", (endpoint, host) => {
    expect(toUiUrl(endpoint)).toBe(host);
  });

  test("the address of a project's page has escaped ids", () => {
    const path = { tenantId: "t/1", projectId: "p?2" };
    expect(createProjectUrl("http://h", path)).toBe("http://h/o/t%2F1/projects/p/p%3F2");
  });
});

describe("a public token", () => {
  const token = "0f0e0d0c-0b0a-4908-8706-050403020100";

  test.each([
    [token, 2],
    [`https://h.test/public/${token}/d`, 2],
    [`https://h.test/public/${token}/r?x=1#y`, 2],
    [`https://h.test/public/${token}/d/`, 2],
    [`https://h.test/public/${token}//d`, 2],
    [`https://h.test/public/${token}`, 1],
    ["https://h.test/public/short-token/d", 2],
  ])("is found in %s, %i from its end", (text, fromEnd) => {
    const found = extractShareToken(text, { resource: "dataset", fromEnd });
    expect(found).toBe(text.includes("short") ? "short-token" : token);
  });

  test.each(["", "token", "/public/x/d", "https://h.test/", 7, undefined])(
    "is not found in %j",
    (text) => {
      const words =
        "Invalid public dataset URL or token: it is neither a UUID nor a URL with the token in its path. Pass the url or the shareToken that sharing the dataset returned";
      expect(() => extractShareToken(text, { resource: "dataset" })).toThrow(words);
    },
  );
});
