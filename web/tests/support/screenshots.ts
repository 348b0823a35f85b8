import process from "node:process";
import type { Page } from "playwright-core";

/** The folder for screenshots, which a person can look at. */
export const screenshots = "temp/web";

/** Whether to take pictures of every screen in each of its states: hundreds of them take longer than the checks. */
export const takesAllScreenshots = process.env["SCREENSHOTS"] === "all";

/** Whether each of these pictures is taken at all widths and in both colour schemes. */
const takesWalk = process.env["SCREENSHOTS"] === "walk";
const walkWidths = [1440, 1024, 390] as const;
const walkSchemes = ["light", "dark"] as const;

/** Waits until the page shows what was last changed, and takes the pictures of it that are wanted. */
export async function showScreen(page: Page, name: string): Promise<void> {
  await waitForFrames(page);
  if (takesAllScreenshots) {
    await page.screenshot({ path: `${screenshots}/${name}.png` });
  }
  if (takesWalk) {
    await walk(page, name);
  }
}

/** Takes the pictures, and leaves the page as it was. */
async function walk(page: Page, name: string): Promise<void> {
  const viewport = page.viewportSize();
  const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  for (const width of walkWidths) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of walkSchemes) {
      await page.emulateMedia({ colorScheme });
      await waitForFrames(page);
      await page.screenshot({ path: `${screenshots}/walk/${name}-${width}-${colorScheme}.png` });
    }
  }
  await page.emulateMedia({ colorScheme: isDark ? "dark" : "light" });
  if (viewport !== null) {
    await page.setViewportSize(viewport);
  }
}

/** Waits until the page shows what was last changed. */
export async function waitForFrames(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise((resolve) => {
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    });
    // A change of the colour scheme fades some colours. What turns as long as something loads never finishes.
    const ending = document
      .getAnimations()
      .filter((animation) => animation.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map((animation) => animation.finished));
  });
}
