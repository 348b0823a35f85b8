import sparticuz from "@sparticuz/chromium";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { BrowserContext } from "playwright-core";

const installedPath = "/usr/bin/chromium";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A Chromium with a new profile: the installed one if there is one, else the one from the package. */
export interface TestBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** Returns the path of the installed Chromium, or else extracts the packaged one. */
export const findChromium = async (): Promise<string> =>
  existsSync(installedPath) ? installedPath : sparticuz.executablePath();

/**
 * Starts Chromium. If it can't start on this machine, prints the reason and returns `undefined`, so that the tests are
 * skipped. In CI it throws instead: there the tests have to run.
 */
export async function startBrowser(): Promise<TestBrowser | undefined> {
  const profile = mkdtempSync(join(tmpdir(), "millrace-chromium-"));
  const close = (): void => rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: await findChromium(),
      args: flags,
      viewport: { width: 1280, height: 800 },
      // Otherwise the locale comes from the environment and may be invalid for the browser.
      locale: "en-US",
    });
    return { context, close: async () => context.close().then(close) };
  } catch (cause) {
    close();
    if (process.env["CI"] !== undefined) {
      throw cause;
    }
    console.warn(`skipped: no Chromium can start here: ${String(cause)}`);
    return undefined;
  }
}
