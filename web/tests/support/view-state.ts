import type { Page } from "playwright-core";
import { findFaults } from "./axe.ts";
import { screenshots } from "./opened-page.ts";

/** Light and wide, dark and narrow; what axe finds. */
export async function picture(page: Page, name: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [colorScheme, width] of [
    ["light", 1_280],
    ["dark", 390],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.waitForFunction(
      (wanted) => document.documentElement.dataset["mantineColorScheme"] === wanted,
      colorScheme,
    );
    await page.screenshot({ path: `${screenshots}/states-${name}-${colorScheme}-${width}.png` });
  }
  wrong.push(...(await findFaults(page)).map(({ id, places }) => `${id}: ${places.join(" ")}`));
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
  return wrong;
}

/** What of a heading, an end to waiting, words and a way on is missing. */
export async function lacks(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const main = document.querySelector("main");
    const isSeen = (one: Element): boolean => one.getClientRects().length > 0;
    const seen = (selector: string): readonly Element[] =>
      [...(main?.querySelectorAll(selector) ?? [])].filter(isSeen);
    return [
      ...(seen("h1").length === 0 ? ["no heading"] : []),
      ...seen('[aria-label^="Loading"]').map((one) => `waits: ${one.getAttribute("aria-label")}`),
      ...(seen("a, button").length === 0 ? ["no way on"] : []),
    ];
  });
}
