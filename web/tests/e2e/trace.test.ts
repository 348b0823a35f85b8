import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openPage, screenshots } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { recordAssistant } from "../support/trace-recordings.ts";

const browser = await startBrowser();
const axeFile = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface AxeFault {
  readonly id: string;
  readonly impact: string;
  readonly targets: readonly string[];
}

describe.skipIf(browser === undefined)("a trace, in Chromium", () => {
  let opened: OpenedPage;
  let traceId: string;
  let address: string;

  beforeAll(async () => {
    opened = await openPage(browser!, "travel");
    traceId = await recordAssistant(opened.client);
    address = `${await opened.projectAddress()}?trace=${traceId}`;
  });

  beforeEach(async () => {
    opened.faults.length = 0;
    await opened.page.setViewportSize({ width: 1280, height: 800 });
  });

  afterAll(async () => {
    await opened.close();
    await browser?.close();
  });

  const findFaults = async (): Promise<readonly AxeFault[]> => {
    await opened.page.evaluate(readFileSync(axeFile, "utf8"));
    return opened.page.evaluate(async () => {
      const { axe } = window as unknown as {
        axe: {
          run: () => Promise<{
            violations: { id: string; impact: string; nodes: { html: string }[] }[];
          }>;
        };
      };
      const { violations } = await axe.run();
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, impact, nodes }) => ({
          id,
          impact,
          targets: nodes.map(({ html }) => html.slice(0, 200)),
        }));
    });
  };

  test("tree, waterfall and details are seen in either scheme, on a desk and on a phone", async () => {
    const { page, faults } = opened;
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(address);
        await page.getByRole("treeitem").filter({ hasText: "answer" }).first().click();
        await page.getByText("light shirts").first().waitFor();
        await page.screenshot({ path: `${screenshots}/trace-${colorScheme}-${width}.png` });
        expect(await findFaults()).toEqual([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide).toBeLessThanOrEqual(width);
      }
    }
    expect(faults).toEqual([]);
  });
});
