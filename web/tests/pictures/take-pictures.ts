import { Client } from "millrace";
import { startServer } from "@millrace/server";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { startBrowser } from "../support/browser.ts";
import { waitForFrames } from "../support/screenshots.ts";
import { recordSupportBot } from "./support-bot.ts";

// Takes the pictures of the UI in the README and in docs/web.md: `npm run pictures`.

const folder = "docs/images";
const browser = await startBrowser();
if (browser === undefined) {
  throw new Error("Chromium is needed to take pictures. It could not start for the reason above.");
}
const dataDir = mkdtempSync(join(tmpdir(), "millrace-pictures-"));
const server = await startServer({ port: 0, dataDir });
try {
  const client = new Client({ endpoint: server.url, projectName: "support-bot" });
  const traceId = await recordSupportBot(client);
  await client.close();
  const response = await fetch(`${server.url}/sessions?name=support-bot`);
  const [project] = (await response.json()) as readonly { id: string; tenant_id: string }[];
  const projectUrl = `${server.url}/o/${project?.tenant_id}/projects/p/${project?.id}`;
  const page = await browser.context.newPage();
  await page.emulateMedia({ colorScheme: "light" });
  const take = async (name: string, url: string, shown: string, height: number): Promise<void> => {
    await page.setViewportSize({ width: 1_280, height });
    await page.goto(url);
    await page.getByText(shown).first().waitFor();
    await page.waitForFunction(() => document.querySelector('[aria-label^="Loading"]') === null);
    // Further parts, such as charts, are loaded one after the other. The live feed keeps the network busy all the time.
    await page.waitForTimeout(2_000);
    // The server counts new runs in the background.
    const counting = page.getByText("Counting the latest changes");
    await counting.waitFor({ state: "detached", timeout: 120_000 });
    await waitForFrames(page);
    await page.screenshot({ path: join(folder, `${name}.png`) });
  };
  await take("home", `${server.url}/?last=7d`, "Traces, last 7 d", 860);
  await take("runs", `${projectUrl}?last=7d`, "answer-question", 760);
  await take("trace", `${projectUrl}?trace=${traceId}`, "find-articles", 760);
  await page.getByRole("treeitem", { name: /Chat/ }).click();
  await page.getByText("Tool result").waitFor();
  await waitForFrames(page);
  await page.screenshot({ path: join(folder, "trace.png") });
  await take(
    "dashboard",
    `${projectUrl}/dashboard?last=7d&scope=models&group=model`,
    "claude-sonnet-4-5",
    900,
  );
} finally {
  await browser.close();
  await server.close();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 });
}
process.stdout.write(`The pictures are in ${folder}.\n`);
