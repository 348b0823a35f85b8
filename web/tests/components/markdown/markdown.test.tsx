import { MantineProvider } from "@mantine/core";
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { Markdown } from "../../../src/components/markdown/markdown.tsx";

afterEach(cleanup);

const show = (text: string) =>
  render(
    <MantineProvider>
      <Markdown text={text} />
    </MantineProvider>,
  );

const notice = "Shown as plain text: too long or too deeply nested for Markdown.";

/** Repeats `open` before and `close` after a letter. */
const nest = (open: string, close: string, count: number): string =>
  `${open.repeat(count)}x${close.repeat(count)}`;

const indentedList = Array.from({ length: 300 }, (_, level) => `${"  ".repeat(level)}- a`);

const hostileTexts = {
  "quotes of a space": `${"> ".repeat(2_000)}x`,
  "quotes in a longer text": `First.\n\n${">".repeat(3_000)}x\n\nLast.`,
  "bulleted lists": `${"- ".repeat(2_000)}x`,
  "numbered lists": `${"1. ".repeat(2_000)}x`,
  "quotes and lists by turns": `${"> - 1) ".repeat(700)}x`,
  "indented lists": indentedList.join("\n"),
  "footnotes in each other": `${"[^a]: ".repeat(2_000)}x`,
  "emphasis in each other": nest("*a **b ", " c** d*", 300),
  "emphasis that ends nowhere": "*a_ ".repeat(20_000),
  "images in each other": nest("![", "](a)", 5_000),
  "links in each other": nest("[", "](a)", 5_000),
  "a table whose rows lack most cells": `|${"a|".repeat(300)}\n|${"-|".repeat(300)}\n${"|\n".repeat(2_000)}`,
  "more characters than Markdown is rendered for": "word ".repeat(20_001),
};

test.for(Object.entries(hostileTexts))("%s are shown as plain text, which is said", ([, text]) => {
  const { container } = show(text);
  expect(container.textContent).toContain(notice);
  expect(container.querySelector("pre")?.textContent).toBe(text.slice(0, 20_000));
});

test.for([
  ["quotes", `${"> ".repeat(30)}deep`],
  ["lists", `${"- ".repeat(30)}deep`],
  ["a rule of many dashes", `${"-".repeat(500)}\n\ndeep`],
  ["many paragraphs with emphasis", "Some **deep** words.\n\n".repeat(500)],
] as const)("%s of a usual depth are rendered", ([, text]) => {
  const { container } = show(text);
  expect(container.textContent).not.toContain(notice);
  expect(container.querySelector(".markdown")?.textContent).toContain("deep");
});
