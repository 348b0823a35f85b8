import { expect, test } from "vitest";
import {
  assertNewPromptTag,
  assertPromptTag,
  handleLimit,
  isCommitHash,
  looksLikeHash,
  parsePromptPath,
  parsePromptReference,
} from "../../src/model/resources/prompt-identifier.ts";

test.each([
  ["r", { owner: "-", repo: "r" }],
  ["-/r", { owner: "-", repo: "r" }],
  ["me/r_1-x", { owner: "me", repo: "r_1-x" }],
  ["r:latest", { owner: "-", repo: "r" }],
  ["me/r:0123abcd", { owner: "me", repo: "r", commit: "0123abcd" }],
  ["r:v1.0_rc-2", { owner: "-", repo: "r", commit: "v1.0_rc-2" }],
  ["x".repeat(handleLimit), { owner: "-", repo: "x".repeat(handleLimit) }],
])("%j is parsed into prompt, owner and commit", (identifier, expected) => {
  expect(parsePromptReference(identifier)).toStrictEqual(expected);
});

test.each([
  [undefined, "of type undefined"],
  [7, "of type number"],
  ["", 'expected "repo", "owner/repo" or "owner/repo:commit"'],
  ["a/b/c", 'more than one "/"'],
  ["a//b", 'more than one "/"'],
  ["a:b:c", 'more than one ":"'],
  ["/r", "the owner is empty"],
  ["me/", "the repo is empty"],
  [":c", "the repo is empty"],
  ["r:", "the commit is empty"],
  ["..", 'the repo ".." is invalid'],
  ["../r", 'the owner ".." is invalid'],
  ["r:..", 'the commit ".." is invalid'],
  ["-", 'the repo "-" is invalid'],
  ["r\u00e9", "is invalid"],
  ["\u0430", "is invalid"],
  ["a b", "is invalid"],
  [" r", "is invalid"],
  ["r\n", 'the repo "r\\n" is invalid'],
  ["r\r\nx-api-key: k", "is invalid"],
  ["r\u0000", "is invalid"],
  ["r%2f", "is invalid"],
  ["r?x=1", "is invalid"],
  ["r#x", "is invalid"],
  ["\ud800", "is invalid"],
  ["x".repeat(handleLimit + 1), "the repo is longer than 100 characters"],
  [`${"x".repeat(handleLimit + 1)}/r`, "the owner is longer than 100 characters"],
  [`r:${"x".repeat(handleLimit + 1)}`, "the commit is longer than 100 characters"],
])("%j is refused, and the message says which part is invalid", (identifier, reason) => {
  expect(() => parsePromptReference(identifier)).toThrow(reason);
});

test("a message contains no line break, even if the identifier does", () => {
  expect(() => parsePromptReference("r\r\nSet-Cookie: x")).toThrow(/^[ -~]+$/);
});

test("a prompt as a whole has no commit, not even the latest", () => {
  expect(parsePromptPath("me/r")).toStrictEqual({ owner: "me", repo: "r" });
  expect(() => parsePromptPath("r:latest")).toThrow("takes no commit");
});

test.each(["latest", "", "-x", "a/b", "a b", "\u00e9", "x".repeat(handleLimit + 1), 7])(
  "%j is refused as the tag of a commit",
  (tag) => {
    expect(() => assertPromptTag(tag)).toThrow("A tag of a commit consists of");
  },
);

test.each(["20261129", "deadbeef", "0".repeat(64)])(
  "%j is refused as a new tag, because it looks like a hash",
  (tag) => {
    expect(() => assertNewPromptTag(tag)).toThrow("looks like the hash of a commit");
  },
);

test.each(["2026", "2026-11-29", "beef", "v20261129", "DEADBEEF"])("%j is a new tag", (tag) => {
  expect(() => assertNewPromptTag(tag)).not.toThrow();
});

test("a hash is distinguished from a tag by its digits", () => {
  expect(["abcd", "0".repeat(64)].every(isCommitHash)).toBe(true);
  expect(["abcdef0", "0".repeat(64)].every(looksLikeHash)).toBe(true);
  expect(["2024", "beef", "prod", "abcdef"].some(looksLikeHash)).toBe(false);
  expect(["abc", "ABCD", "prod", "0".repeat(65)].some(isCommitHash)).toBe(false);
});
