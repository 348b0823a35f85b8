import sparticuz from "@sparticuz/chromium";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { BrowserContext } from "playwright-core";

const installed = "/usr/bin/chromium";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A Chromium with a fresh profile; the machine's own where it has one. */
export interface TestBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** `undefined`, and a printed reason, where no Chromium can start on this machine. */
export async function startBrowser(): Promise<TestBrowser | undefined> {
  const profile = mkdtempSync(join(tmpdir(), "millrace-chromium-"));
  const close = (): void => rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  try {
    const executablePath = existsSync(installed) ? installed : await sparticuz.executablePath();
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      args: flags,
      viewport: { width: 1280, height: 800 },
      // Without, it is what the shell says, which may be no language that the browser knows.
      locale: "en-US",
    });
    return { context, close: async () => context.close().then(close) };
  } catch (cause) {
    close();
    console.warn(`skipped: no Chromium can start here: ${String(cause)}`);
    return undefined;
  }
}
