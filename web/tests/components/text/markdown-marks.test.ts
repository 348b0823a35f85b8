import { expect, test } from "vitest";
import { removeMarkdownMarks } from "../../../src/components/text/markdown-marks.ts";

test.for([
  ["It rains **tomorrow", "It rains tomorrow"],
  ["**bold** and __strong__ and `code`", "bold and strong and code"],
  ["## Title\n> quoted", "Title\nquoted"],
  ["2 * 3, snake_case, a__b__c, #1", "2 * 3, snake_case, a__b__c, #1"],
] as const)("%s is shown as %s", ([text, shown]) => {
  expect(removeMarkdownMarks(text)).toBe(shown);
});
