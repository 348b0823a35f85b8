import { expect, test } from "vitest";
import { replaceSection } from "../../bench/results-page.ts";

const section = (question: string, origin: string): string =>
  `## ${question}\n\n\`npm run x\`\nNode 24.1.0, linux x64; ${origin}\n\n| a |\n`;

const machine = "2 cores of AMD EPYC, 24 GB, load 0.1; commit abc1234";

test("a new section replaces its previous version, and the others stay", () => {
  const one = replaceSection("", "one", section("One?", machine));
  const two = replaceSection(one, "two", section("Two?", machine));
  const again = replaceSection(two, "one", section("One, again?", machine));
  expect(again.match(/^## .*/gm)).toEqual(["## One, again?", "## Two?"]);
  expect(replaceSection(again, "two", section("Two?", machine))).toBe(again);
});

test("the head names the machine and the commit of each section, and says when they differ", () => {
  const one = replaceSection("", "one", section("One?", machine));
  expect(one).toContain("| One? | 2 cores of AMD EPYC | abc1234 |");
  expect(one).not.toContain("These sections");
  const otherMachine = "8 cores of Xeon, 64 GB; commit def5678 with changes";
  const two = replaceSection(one, "two", section("Two?", otherMachine));
  expect(two).toContain("| Two? | 8 cores of Xeon | def5678 with changes |");
  expect(two).toContain("These sections come from 2 commits and 2 machines");
});
