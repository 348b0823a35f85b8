import type { Page } from "playwright-core";
import { findFaults } from "./axe.ts";
import { showScreen, takesAllScreenshots } from "./screenshots.ts";

const narrowAndDark = ["dark", 390] as const;
const looks = takesAllScreenshots ? [["light", 1_280] as const, narrowAndDark] : [narrowAndDark];

/** Shows the page in the dark theme on a narrow screen, and returns what axe finds there. */
export async function picture(page: Page, name: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.waitForFunction(
      (wanted) => document.documentElement.dataset["mantineColorScheme"] === wanted,
      colorScheme,
    );
    await showScreen(page, `states-${name}-${colorScheme}-${width}`);
  }
  problems.push(
    ...(await findFaults(page)).map(({ id, elements }) => `${id}: ${elements.join(" ")}`),
  );
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
  return problems;
}

/** Lists what a finished view lacks: a heading, the end of loading, or a link or button. */
export async function findMissingParts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const main = document.querySelector("main");
    const isVisible = (element: Element): boolean => element.getClientRects().length > 0;
    const findVisible = (selector: string): readonly Element[] =>
      [...(main?.querySelectorAll(selector) ?? [])].filter(isVisible);
    return [
      ...(findVisible("h1").length === 0 ? ["no heading"] : []),
      ...findVisible('[aria-label^="Loading"]').map(
        (element) => `still loading: ${element.getAttribute("aria-label")}`,
      ),
      ...(findVisible("a, button").length === 0 ? ["no link or button"] : []),
    ];
  });
}
