import { findChromium } from "./browser.ts";

/**
 * Extracts the packaged Chromium before the first test file. Test files that run side by side would otherwise extract it
 * at the same time, and start a file that another one is still writing.
 */
export async function setup(): Promise<void> {
  await findChromium().catch(() => {
    // Each file that starts the browser reports why it can't.
  });
}
