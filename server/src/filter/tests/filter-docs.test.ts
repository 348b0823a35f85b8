import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { comparators } from "../ast.ts";
import {
  comparatorsByType,
  exampleFields,
  isJsonType,
  runFields,
  valueDescriptions,
} from "../fields.ts";
import type { FieldTable } from "../fields.ts";
import { filterLimits } from "../parser.ts";
import { checkFilter } from "../checker.ts";

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
