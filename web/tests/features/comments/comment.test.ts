import { expect, test } from "vitest";
import {
  maxCommentChars,
  getAuthorName,
  parseCommentCounts,
  parseCommentPage,
  validateComment,
} from "../../../src/features/comments/comment.ts";

const comment = {
  id: "c1",
  text: "why?",
  author: "Ada",
  key_name: null,
  is_own: true,
  created_at: "2026-11-27T01:00:00Z",
  edited_at: null,
};

test("a page of comments is read, and what is no page is an error", () => {
  expect(parseCommentPage({ comments: [comment], total: 3, key_name: "laptop" })).toEqual({
    comments: [
      {
        id: "c1",
        text: "why?",
        author: "Ada",
        keyName: undefined,
        isOwn: true,
        createdMs: Date.parse("2026-11-27T01:00:00Z"),
        editedMs: undefined,
      },
    ],
    total: 3,
    keyName: "laptop",
  });
  expect(() => parseCommentPage({ comments: [{ ...comment, text: 1 }] })).toThrow(TypeError);
  expect(() => parseCommentPage([])).toThrow(TypeError);
});

test("counts are read by run, and what is no list is an error", () => {
  expect(parseCommentCounts({ runs: [{ run_id: "r", count: 2 }] })).toEqual(new Map([["r", 2]]));
  expect(() => parseCommentCounts({})).toThrow(TypeError);
});

test("a comment has a text of at most 10,000 characters, each counted once", () => {
  expect(validateComment(" \n")).toBe("Enter a comment.");
  expect(validateComment("😀".repeat(maxCommentChars))).toBeUndefined();
  expect(validateComment("x".repeat(maxCommentChars + 1))).toBe(
    "Use at most 10,000 characters. This comment has 10,001.",
  );
});

test("an author is named by the chosen name, or else by the API key", () => {
  expect(getAuthorName({ author: "Ada", keyName: "laptop" })).toBe("Ada");
  expect(getAuthorName({ author: "", keyName: "laptop" })).toBe("laptop");
});
