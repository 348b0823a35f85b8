import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lossReasons } from "../../src/model/stats.ts";

test.each(lossReasons)(
  "docs/delivery.md has a row that says when records are lost: %s",
  (reason) => {
    const page = readFileSync(new URL("../../docs/delivery.md", import.meta.url), "utf8");
    const rows = page.split("\n").filter((line) => /^\| (?:dropped|rejected)/.test(line));
    expect(
      rows.some((row) => row.includes(`\`${reason}\``) || row.startsWith(`| ${reason} |`)),
    ).toBe(true);
  },
);
