import { expect, test } from "vitest";
import { removeMarkdownMarks } from "../../../src/components/markdown/markdown-marks.ts";

test.for([
  ["It rains **tomorrow", "It rains tomorrow"],
  ["**bold** and ***both*** and `code`", "bold and both and code"],
  ["Open *Orders* and choose **Return**.", "Open Orders and choose Return."],
  ["See [the guide](https://example.com/guide) or ![a map](map.png)", "See the guide or a map"],
  ["## Title\n> quoted", "Title\nquoted"],
  [
    "2 * 3, 2*3*4, 2 ** 3, snake_case, __init__, #1, [a](",
    "2 * 3, 2*3*4, 2 ** 3, snake_case, __init__, #1, [a](",
  ],
] as const)("%s is shown as %s", ([text, shown]) => {
  expect(removeMarkdownMarks(text)).toBe(shown);
});
