import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { comparators, printFilter } from "../ast.ts";
import {
  comparatorsByType,
  exampleFields,
  isJsonType,
  runFields,
  valueDescriptions,
} from "../fields.ts";
import type { FieldTable } from "../fields.ts";
import { FilterError } from "../filter-error.ts";
import { filterLimits } from "../parser.ts";
import { checkFilter, describeFields } from "../checker.ts";
import { parseFilter } from "../infix-parser.ts";

const page = readFile(new URL("../../../../docs/filter-language.md", import.meta.url), "utf8");

const tableOf = (fields: FieldTable): string =>
  [
    "| field | comparators | value | what it is |",
    "| --- | --- | --- | --- |",
    ...[...fields.values()].map(({ name, type, nullable, choices, doc }) => {
      const values =
        choices?.map((choice) => `\`"${choice}"\``).join(", ") ?? valueDescriptions[type];
      const orNull = nullable && type !== "error" && !isJsonType(type) ? ", or null" : "";
      return `| \`${name}\` | ${comparatorsByType[type].join(", ")} | ${values}${orNull} | ${doc} |`;
    }),
  ].join("\n");

const boundRows = [
  `| characters | ${filterLimits.length.toLocaleString("en")} |`,
  `| functions | ${filterLimits.nodes} |`,
  `| nested functions | ${filterLimits.depth} |`,
  `| values and levels of an object in \`has\` | ${filterLimits.nodes}, ${filterLimits.jsonDepth} |`,
  `| nested lists of lists or of objects, in \`has\`; at a path | ${filterLimits.jsonNesting}; ${filterLimits.jsonNestingAtPath} |`,
  `| steps of a path, and levels that are searched for entries | ${filterLimits.entryDepth} |`,
].join("\n");

test("the documentation contains the tables of the code", async () => {
  const text = await page;
  expect(text).toContain(tableOf(runFields));
  expect(text).toContain(tableOf(exampleFields));
  expect(text).toContain(boundRows);
});

test("the documentation lists every comparator, and its examples are valid filters", async () => {
  const text = await page;
  const named = comparators.filter((name) => new RegExp(`\`${name}[\`(]`).test(text));
  expect(named).toEqual([...comparators]);
  const examples = [
    ...text.matchAll(/^(?:and|or|not|eq|has|exists)\(.*\)$|[fF]ilter: '(?<quoted>.*)',$/gm),
  ];
  const filters = examples.map((match) => match.groups?.["quoted"] ?? match[0]);
  expect(filters).toHaveLength(9);
  expect(() => filters.map((filter) => checkFilter(filter, runFields))).not.toThrow();
});

test("the documentation says for each form with words which functions it stands for", async () => {
  const section = /\| Written \| The same as \|\n.*\n(?<rows>(?:\|.*\n)+)/.exec(await page);
  const rows = (section?.groups?.["rows"] ?? "").trim().split("\n");
  expect(rows.length).toBeGreaterThan(7);
  for (const row of rows) {
    const [, written = "", functions = ""] = /^\| `(.*)` \| `(.*)` \|$/.exec(row) ?? [];
    const filter = parseFilter(written.replaceAll("\\|", "|"), describeFields(runFields));
    expect(printFilter(filter)).toBe(functions);
  }
});

test("the documentation says what to write instead of words that are refused", async () => {
  const section = /\| Written \| Write \| To search.*\n.*\n(?<rows>(?:\|.*\n)+)/.exec(await page);
  for (const row of (section?.groups?.["rows"] ?? "").trim().split("\n")) {
    const [written = [], ...others] = row
      .split(" | ")
      .map((cell) => [...cell.matchAll(/`([^`]*)`/g)]);
    expect(written.length).toBeGreaterThan(0);
    for (const [, text = ""] of written) {
      expect(() => checkFilter(text, runFields)).toThrow(FilterError);
    }
    for (const [, text = ""] of others.flat()) {
      expect(() => checkFilter(text, runFields)).not.toThrow();
    }
  }
});
