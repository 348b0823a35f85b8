import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { openPage } from "../support/opened-page.ts";
import { screenshots, showScreen } from "../support/screenshots.ts";
import type { OpenedPage } from "../support/opened-page.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)("hostile content of a trace, in Chromium", () => {
  let opened: OpenedPage;

  beforeAll(async () => {
    opened = await openPage(browser!, "hostile");
  });

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    await opened.close();
    await browser?.close();
  });

  /** Posts a run over REST, because our client would truncate large values. */
  const post = async (fields: object): Promise<string> => {
    const id = randomUUID();
    const time = new Date().toISOString();
    const run = {
      id,
      trace_id: id,
      run_type: "chain",
      session_name: "hostile",
      start_time: time,
      end_time: time,
    };
    const stamp = time.replaceAll(/[-:.]/g, "").replace("Z", "000Z");
    // Written as text, because `JSON.stringify` is recursive.
    const deepList = `${"[".repeat(9_000)}1${"]".repeat(9_000)}`;
    const body = JSON.stringify({ ...run, dotted_order: `${stamp}${id}`, ...fields }).replace(
      '"DEEP"',
      deepList,
    );
    const response = await fetch(`${opened.server.url}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(response.ok).toBe(true);
    return id;
  };

  test("deeply nested Markdown and JSON are shown, not rendered level by level", async () => {
    const { page, faults } = opened;
    const quotes = `${"> ".repeat(2_000)}x`;
    const id = await post({ name: "deep", inputs: { list: "DEEP" }, outputs: { text: quotes } });
    await page.goto(`${await opened.projectAddress()}?trace=${id}&as=markdown`);
    await page.getByText("Shown as plain text: too long or too deeply nested").waitFor();
    await page.goto(`${await opened.projectAddress()}?trace=${id}&as=raw`);
    await page.getByLabel("Inputs", { exact: true }).locator("pre").waitFor();
    expect(await page.locator("main").textContent()).not.toContain("call stack");
    expect(faults).toEqual([]);
  });

  test("bytes that are not the image that they claim to be are not shown, and the page says so", async () => {
    const { client, page } = opened;
    const lie = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    const run = client.startRun({
      name: "lies",
      inputs: {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "image_url",
                image_url: { url: `data:image/png;base64,${lie.toString("base64")}` },
              },
            ],
          },
        ],
      },
      attachments: { holiday: ["image/png", lie] },
    });
    run.end({});
    await client.flush();
    const address = `${await opened.projectAddress()}?trace=${run.traceId}`;
    await page.goto(address);
    await page.getByText("[can't be shown: the data is not image/png]").waitFor();
    await page.goto(`${address}&panel=files`);
    await page.getByText("Can't be shown: the file is not image/png.").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    await showScreen(page, "trace-lying-images");
    expect(opened.faults).toEqual([]);
  });

  test("a long name without spaces stays within the page", async () => {
    const { page } = opened;
    const id = await post({ name: "a".repeat(600) });
    await page.goto(`${await opened.projectAddress()}?trace=${id}`);
    const title = page.locator(".trace-title");
    await title.waitFor();
    const box = await title.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(page.viewportSize()!.width);
    expect(await title.textContent()).toMatch(/^a{200}…$/);
  });

  test("scripts, links, control characters and huge names are shown as plain text in every tab", async () => {
    const { page, faults } = opened;
    const script = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    const markdown = `${script}\n\n[click](javascript:alert(3)) ![x](https://evil.test/x.png)\n\n<iframe src="javascript:alert(4)">`;
    const id = await post({
      name: `${script}\u202egnp.exe ${"n".repeat(10_000)}`,
      run_type: "<b>type</b>",
      inputs: {
        messages: [
          { role: "<i>user</i>", content: markdown },
          {
            role: "assistant",
            content: [
              { type: "image_url", image_url: { url: "data:image/svg+xml;base64,PHN2Zy8+" } },
            ],
          },
        ],
      },
      outputs: { text: markdown },
      error: `${script}\n    at <anonymous>`,
      tags: [script],
      extra: { metadata: { [script]: "\u2067" } },
      events: [{ name: script, time: "never" }, null, 7, "text"],
    });
    for (const panel of [
      "data",
      "events",
      "metadata",
      "feedback",
      "files",
      "timing",
      "diff",
      "code",
    ]) {
      await page.goto(`${await opened.projectAddress()}?trace=${id}&panel=${panel}`);
      await page.getByRole("tab", { selected: true }).waitFor();
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(
        await page
          .locator("main")
          .locator(
            "script, iframe, svg[onload], img:not([src^='blob:']), [href^='javascript' i], [onerror]",
          )
          .count(),
      ).toBe(0);
    }
    for (const as of ["chat", "markdown", "json", "raw"]) {
      await page.goto(`${await opened.projectAddress()}?trace=${id}&as=${as}`);
      await page.getByText("<img src=x onerror=alert(2)>").last().waitFor();
      const links = page.locator("main .panel a");
      for (const href of await links.evaluateAll((all) =>
        all.map((link) => link.getAttribute("href")),
      )) {
        expect(href).toMatch(/^https:\/\//);
      }
    }
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toContain(
      String.raw`\u202egnp.exe`,
    );
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(1280);
    await page.screenshot({ path: `${screenshots}/trace-hostile.png` });
    expect(faults).toEqual([]);
  });

  test("a text of 10 MB and a list of 200,000 items are parsed in a worker, searched, and shown in parts", async () => {
    const { page, faults } = opened;
    const list = Array.from({ length: 200_000 }, (_, at) => ({ at, word: `word ${at}` }));
    const id = await post({
      name: "large",
      inputs: { text: "x".repeat(10_000_000) },
      outputs: { list },
    });
    await page.goto(await opened.projectAddress());
    await page.evaluate(() => {
      const tasks: number[] = [];
      Object.assign(window, { tasks });
      new PerformanceObserver((entries) => {
        entries.getEntries().forEach(({ duration }) => tasks.push(duration));
      }).observe({ type: "longtask" });
    });
    await page.getByRole("link", { name: "large" }).first().click();
    await page.getByRole("figure", { name: "Inputs" }).waitFor();
    await page.getByRole("group", { name: "Show Inputs as" }).getByText("JSON").click();
    const inputs = page.getByRole("tree", { name: "Inputs" });
    await inputs.getByText("Show all 10,000,000 characters").click();
    await expect.poll(() => inputs.getByRole("treeitem").count()).toBeGreaterThan(3);
    const outputs = page.getByRole("figure", { name: "Outputs" });
    await outputs.getByLabel("Search this value").fill("word 123456");
    await outputs.getByLabel("Search this value").press("Enter");
    await outputs.getByText("1 of 1").waitFor();
    await outputs.locator("mark").getByText("word 123456").waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(200);
    const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks);
    console.log(`10 MB: longest task ${Math.max(0, ...tasks).toFixed(0)} ms`);
    expect(Math.max(0, ...tasks)).toBeLessThan(1_000);
    await page.screenshot({ path: `${screenshots}/trace-10mb.png` });
    expect(new URL(page.url()).searchParams.get("trace")).toBe(id);
    expect(faults).toEqual([]);
  }, 60_000);
});
