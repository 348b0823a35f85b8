import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startReverseProxy } from "../support/reverse-proxy.ts";
import type { ReverseProxy } from "../support/reverse-proxy.ts";
import { startBrowser } from "../support/browser.ts";
import { WatchedPage } from "../support/watched-page.ts";

const browser = await startBrowser();

describe.skipIf(browser === undefined)(
  "the UI below a base path, behind a reverse proxy, in Chromium",
  () => {
    let proxy: ReverseProxy;
    let server: RunningServer;
    let client: Client;
    let watched: WatchedPage;
    let page: Page;

    beforeAll(async () => {
      proxy = await startReverseProxy({ basePath: "/team/millrace", keepsBasePath: true });
      server = await startServer({
        port: 0,
        dataDir: ":memory:",
        publicUrl: proxy.url,
        trustedProxies: ["loopback"],
        modelEndpoints: [{ name: "local", url: "http://127.0.0.1:9/v1" }],
      });
      proxy.target = server.url;
      // With a trailing slash, as people copy addresses.
      client = new Client({ endpoint: `${proxy.url}/`, projectName: "behind" });
      client.startRun({ name: "question", inputs: { q: 1 } }).end({ answer: "forty-two" });
      await client.flush();
      watched = await WatchedPage.open(browser!, proxy.url);
      page = watched.page;
    }, 60_000);

    afterAll(async () => {
      await client?.close();
      await browser?.close();
      await server?.close();
      await proxy?.close();
    });

    test("assets, navigation, deep links and links in answers stay below the base path", async () => {
      await page.goto(proxy.url);
      await page.getByRole("link", { name: "Projects" }).first().click();
      await page.getByRole("link", { name: "behind", exact: true }).click();
      await page.getByRole("link", { name: "question" }).click();
      await page.getByText("forty-two").first().waitFor();
      expect(new URL(page.url()).pathname).toMatch(
        /^\/team\/millrace\/o\/[\da-f-]{36}\/projects\/p\//,
      );
      // The same URL opens the same trace, also after a reload.
      await page.reload();
      await page.getByText("forty-two").first().waitFor();
      await page.goto(`${proxy.url}/o/nothing/here`);
      await page.getByRole("link", { name: /home/i }).first().waitFor();
      expect(proxy.outsideRequests).toEqual([]);
      expect(watched.faults.filter((fault) => !fault.includes("404"))).toEqual([]);
    });

    test("runs that arrive appear without a reload: the live feed passes the proxy", async () => {
      await page.goto(`${proxy.url}/`);
      await page.getByRole("link", { name: "Projects" }).first().click();
      await page.getByRole("link", { name: "behind", exact: true }).click();
      await page.getByRole("link", { name: "question" }).waitFor();
      client.startRun({ name: "arrived later" }).end({});
      await client.flush();
      await page.getByRole("link", { name: "arrived later" }).waitFor({ timeout: 30_000 });
      expect(proxy.outsideRequests).toEqual([]);
    });

    test("the playground passes the check of its origin, and a copied share link opens", async () => {
      const response = await page.evaluate(async (url) => {
        const answer = await fetch(url, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        });
        return [answer.status, await answer.text()] as const;
      }, `${proxy.url}/ui/models/calls`);
      expect(response[1]).not.toContain("only the UI of this server");
      const runs = await client.runs.list({ projectNames: ["behind"] }).toArray();
      const { url } = await client.runs.share(runs[0]!.id);
      expect(url.startsWith(`${proxy.url}/public/`)).toBe(true);
      await page.goto(url);
      await page.getByText("arrived later").first().waitFor();
      await page.goto(`${proxy.url}/docs`);
      await page.getByRole("heading", { name: /Millrace local server/ }).waitFor();
      expect(proxy.outsideRequests).toEqual([]);
    });
  },
);
