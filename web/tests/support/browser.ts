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

/** Starts Chromium. If it can't start on this machine, prints the reason and returns `undefined`. */
export async function startBrowser(): Promise<TestBrowser | undefined> {
  const profile = mkdtempSync(join(tmpdir(), "millrace-chromium-"));
  const close = (): void => rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  try {
    const executablePath = existsSync(installedPath)
      ? installedPath
      : await sparticuz.executablePath();
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      args: flags,
      viewport: { width: 1280, height: 800 },
      // Otherwise the locale comes from the environment and may be invalid for the browser.
      locale: "en-US",
    });
    return { context, close: async () => context.close().then(close) };
  } catch (cause) {
    close();
    console.warn(`skipped: no Chromium can start here: ${String(cause)}`);
    return undefined;
  }
}
