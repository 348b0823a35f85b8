import { startServer } from "@millrace/server";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import type { TestBrowser } from "./browser.ts";
import { screenshots } from "./screenshots.ts";

/** A server, a client, and a browser page that records everything that goes wrong in it. */
export interface OpenedPage {
  readonly server: RunningServer;
  readonly client: Client;
  readonly page: Page;
  /** Exceptions, violations of the Content-Security-Policy, dialogs, and requests to other hosts. */
  readonly faults: string[];
  /** The URL of the project's run list. */
  projectAddress(): Promise<string>;
  close(): Promise<void>;
}

export async function openPage(
  browser: TestBrowser,
  project: string,
  options: ServerOptions = {},
): Promise<OpenedPage> {
  mkdirSync(screenshots, { recursive: true });
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
  const server = await startServer({ port: 0, dataDir, ...options });
  const client = new Client({ endpoint: server.url, projectName: project });
  const page = await browser.context.newPage();
  const faults: string[] = [];
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on(
    "console",
    (line) => line.type() === "error" && faults.push(`${line.text()} ${line.location().url}`),
  );
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:")) {
      faults.push(`a request to ${request.url()}`);
    }
  });
  return {
    server,
    client,
    page,
    faults,
    projectAddress: async () => {
      const response = await fetch(`${server.url}/sessions?name=${encodeURIComponent(project)}`);
      const [found] = (await response.json()) as readonly { id: string; tenant_id: string }[];
      return `${server.url}/o/${found?.tenant_id}/projects/p/${found?.id}`;
    },
    close: async () => {
      await client.close();
      await page.close();
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
