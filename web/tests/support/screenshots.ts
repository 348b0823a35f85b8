import process from "node:process";
import type { Page } from "playwright-core";

/** The folder for screenshots, which a person can look at. */
export const screenshots = "temp/web";

/** Whether to take pictures of every screen in each of its states: hundreds of them take longer than the checks. */
export const takesAllScreenshots = process.env["SCREENSHOTS"] === "all";

/** Waits until the page shows what was last changed, and takes a picture of it if all are wanted. */
export async function showScreen(page: Page, name: string): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise((resolve) => {
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    });
  });
  if (takesAllScreenshots) {
    await page.screenshot({ path: `${screenshots}/${name}.png` });
  }
}
