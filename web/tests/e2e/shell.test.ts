import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";

const browser = await startBrowser();
const screenshots = "temp/web";

describe.skipIf(browser === undefined)("home, feedback and settings, in Chromium", () => {
  let server: RunningServer;
  let client: Client;
  let dataDir: string;
  let page: Page;
  let tenantId: string;
  /** Exceptions, violations of the Content-Security-Policy, and requests to other hosts. */
  const faults: string[] = [];

  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    server = await startServer({ port: 0, dataDir });
    client = new Client({ endpoint: server.url, projectName: "ask-the-docs" });
    tenantId = ((await (await fetch(`${server.url}/settings`)).json()) as { id: string }).id;
    page = await browser!.context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (line) => line.type() === "error" && faults.push(line.text()));
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url)) {
        faults.push(`a request to ${request.url()}`);
      }
    });
  }, 60_000);

  beforeEach(() => {
    faults.length = 0;
  });

  afterAll(async () => {
    await client.close();
    await browser?.close();
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }, 60_000);

  /** Records traces with token counts, one of them failed. */
  async function record(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const startTime = Date.now() - 100 - index * 13;
      const root = client.startRun({ name: "ask", startTime });
      const model = root.startChild({ name: "model", runType: "llm", startTime });
      const usage_metadata = {
        input_tokens: 20,
        output_tokens: 5,
        total_tokens: 25,
        total_cost: 0.001,
      };
      model.end({ usage_metadata }, { endTime: Date.now() - 10 });
      if (index === 0) {
        root.fail(new Error("no"));
      } else {
        root.end({ answer: "yes" });
      }
    }
    await client.flush();
  }

  const shoot = async (name: string): Promise<void> => {
    for (const [scheme, width] of [
      ["light", 1_280],
      ["dark", 1_280],
      ["light", 390],
      ["dark", 390],
    ] as const) {
      await page.setViewportSize({ width, height: 860 });
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForFunction(
        (wanted) => document.documentElement.dataset["mantineColorScheme"] === wanted,
        scheme,
      );
      // Wait for the transitions between the themes: axe would measure colours of neither theme.
      await page.evaluate(async () => {
        const ending = document
          .getAnimations()
          .filter(({ effect }) => effect?.getTiming().iterations !== Infinity);
        await Promise.allSettled(ending.map(({ finished }) => finished));
      });
      await page.screenshot({
        path: `${screenshots}/${name}-${scheme}-${width}.png`,
        fullPage: true,
      });
      expect(await findFaults(page), `${name} ${scheme} ${width}`).toEqual([]);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow, `${name} at ${width}`).toBe(0);
    }
    await page.setViewportSize({ width: 1_280, height: 860 });
    await page.emulateMedia({ colorScheme: "light" });
  };

  test("the overview shows live activity and the record counts of SDK clients", async () => {
    await page.goto(server.url);
    await page.getByText("No runs yet").waitFor();
    for (const [tab, text] of [
      ["LangSmith SDK", `export LANGSMITH_ENDPOINT=${server.url}`],
      ["OpenTelemetry", `export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${server.url}/otel/v1/traces`],
      ["LangChain", `export LANGCHAIN_ENDPOINT=${server.url}`],
      ["Millrace for Node.js", "npm install millrace"],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByRole("tabpanel").getByText(text).waitFor();
    }
    await shoot("first-run");
    await record(20);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const tiles = page.getByLabel("Activity of the last minute");
    await expect
      .poll(async () => tiles.textContent(), { timeout: 20_000 })
      .toMatch(/Tokens\/min500/);
    await page.getByRole("heading", { name: "SDK clients" }).waitFor();
    await expect
      .poll(async () =>
        page.locator("section", { hasText: "SDK clients" }).locator("tbody").textContent(),
      )
      .toContain("ask-the-docs");
    const rows = await page.getByRole("link", { name: "ask-the-docs" }).count();
    expect(rows).toBeGreaterThan(0);
    await shoot("home");
    expect(faults).toEqual([]);
  }, 120_000);

  test("shortcuts open screens, the palette finds a project by name, and typing triggers no shortcut", async () => {
    await page.goto(server.url);
    // A page has a shortcut as soon as it has a link in the navigation.
    await page.getByRole("navigation").getByRole("link", { name: "Projects" }).waitFor();
    await page.getByLabel("Activity of the last minute").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.getByRole("searchbox", { name: "Search projects by name" }).waitFor();
    await page.keyboard.press("/");
    expect(new URL(page.url()).pathname).toBe(`/o/${tenantId}/projects`);
    await page.keyboard.type("ask g h ?");
    await expect.poll(() => new URL(page.url()).searchParams.get("name")).toBe("ask g h ?");
    await page.keyboard.press("Control+k");
    // Pages come before what the current page offers.
    expect(await page.getByRole("option").first().locator(".palette-group").innerText()).toBe(
      "Pages",
    );
    await page.keyboard.type("ask-the");
    await page.getByRole("option", { name: /ask-the-docs/ }).waitFor();
    await page.screenshot({ path: `${screenshots}/palette.png` });
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/projects\/p\//);
    await page.locator("main").focus();
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await page.locator("dialog").count()).toBe(0);
    expect(faults).toEqual([]);
  }, 60_000);

  test("feedback shows scores and values over time, and the latest records with their runs", async () => {
    await record(2);
    const [project] = (await (await fetch(`${server.url}/sessions`)).json()) as { id: string }[];
    const runs = (await (
      await fetch(`${server.url}/runs/query`, {
        method: "POST",
        body: JSON.stringify({ session: [project!.id], is_root: true, limit: 20 }),
      })
    ).json()) as { runs: { id: string }[] };
    const tones = ["kind", "curt", "kind", "odd"];
    for (const [index, { id: run_id }] of runs.runs.entries()) {
      const created_at = new Date(Date.now() - index * 86_400_000).toISOString();
      for (const body of [
        {
          run_id,
          key: "quality",
          score: ((index * 7) % 11) / 10,
          created_at,
          comment: `note ${index}`,
        },
        { run_id, key: "tone", value: tones[index % 4], created_at },
      ]) {
        await fetch(`${server.url}/feedback`, { method: "POST", body: JSON.stringify(body) });
      }
    }
    await fetch(`${server.url}/feedback`, {
      method: "POST",
      body: JSON.stringify({
        run_id: runs.runs[0]!.id,
        key: "quality",
        score: 1,
        feedback_source: { type: "app", metadata: { reviewer: "Ada" } },
      }),
    });
    // A project without feedback whose name is the first one.
    await fetch(`${server.url}/sessions`, { method: "POST", body: '{"name":"a first name"}' });
    await page.goto(`${server.url}/o/${tenantId}/feedback`);
    await expect.poll(() => page.getByLabel("Project").inputValue()).toBe(project!.id);
    await page.getByRole("cell", { name: "Ada", exact: true }).waitFor();
    await page.goto(`${server.url}/o/${tenantId}/feedback?key=quality`);
    await page.getByRole("button", { name: /^quality/ }).waitFor();
    await page.getByText("Score distribution").waitFor();
    await page.getByText("note 3", { exact: true }).waitFor();
    await shoot("feedback");
    // A point of the chart shows the feedback of its period.
    const chart = page.getByRole("slider", { name: "Scores: quality" });
    await chart.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByText("No feedback in this period.").waitFor();
    await chart.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByText("note 0", { exact: true }).waitFor();
    // A reload keeps the period.
    await page.reload();
    await page.getByRole("heading", { name: /^Feedback from / }).waitFor();
    await page.getByText("note 0", { exact: true }).waitFor();
    expect(await page.getByText("note 3", { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "Show latest" }).click();
    await page.getByRole("heading", { name: "Latest feedback" }).waitFor();
    // A step of the distribution leads to the runs with such a score.
    const step = page.locator(".feedback-histogram").getByRole("row").last();
    const scored = Number(await step.locator("td.number").textContent());
    await step.getByRole("link").click();
    await page.waitForURL(/filter=/);
    await expect.poll(async () => page.locator("tbody tr").count()).toBe(scored);
    await page.goBack();
    await page.getByRole("button", { name: /^tone/ }).click();
    await page.getByText("Values: tone").waitFor();
    expect(new URL(page.url()).searchParams.get("key")).toBe("tone");
    await page.screenshot({ path: `${screenshots}/feedback-values.png` });
    await page.getByRole("link", { name: "Open" }).first().click();
    await page.waitForURL(/trace=/);
    expect(faults).toEqual([]);
  }, 120_000);

  test("a feedback link opens a form for a score and a comment, and confirms the submission", async () => {
    const run = client.startRun({ name: "judged by a user" });
    run.end();
    await client.flush();
    const token = (await (
      await fetch(`${server.url}/feedback/tokens`, {
        method: "POST",
        body: JSON.stringify({
          run_id: run.id,
          feedback_key: "user-rating",
          feedback_config: {
            type: "categorical",
            categories: [
              { value: 1, label: "Helpful" },
              { value: 0, label: "Not helpful" },
            ],
          },
        }),
      })
    ).json()) as { url: string };
    await page.goto(token.url);
    await page.getByText("Helpful", { exact: true }).click();
    await page.getByLabel("Comment").fill("<b>thanks</b>");
    await shoot("feedback-form");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("Your feedback was received.").waitFor();
    const [feedback] = (await (
      await fetch(`${server.url}/feedback?run=${run.id}`)
    ).json()) as Record<string, unknown>[];
    expect(feedback).toMatchObject({ key: "user-rating", score: 1, comment: "<b>thanks</b>" });
    expect(faults).toEqual([]);
    await page.goto(`${server.url}/feedback/tokens/00000000-0000-4000-8000-000000000000`);
    await page.getByText("This feedback link is not valid.").waitFor();
  }, 120_000);

  test("settings: retention is set after a confirmation, and this browser stays signed in after the first key", async () => {
    faults.length = 0;
    await page.goto(`${server.url}/o/${tenantId}/settings`);
    await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
    await page.getByText("Database").waitFor();
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("button", { name: "Delete old runs" }).click();
    await page.getByText("kept for 30 days").waitFor();
    await page.getByRole("button", { name: "Actions of the rule for All projects" }).click();
    await page.getByRole("menuitem", { name: "Remove rule" }).click();
    await page.getByText("No retention rules.").waitFor();
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("button", { name: "Delete old runs" }).click();
    await page.getByText("kept for 30 days").waitFor();
    await page.getByLabel("Tenant handle").fill("team-a");
    await page.getByRole("button", { name: "Create tenant" }).click();
    await page.getByText("team-a").waitFor();
    await shoot("settings");
    await page.getByLabel("Key name").fill("laptop");
    await page.getByRole("button", { name: "Create key and require authentication" }).click();
    await page.getByText("Copy the key now").waitFor();
    await page.getByText("laptop").waitFor();
    expect((await fetch(`${server.url}/sessions`)).status).toBe(401);
    expect(faults).toEqual([]);
    const key = await page.evaluate(() => localStorage.getItem("millrace-api-key"));
    await page.getByRole("button", { name: "Sign out of this browser" }).click();
    await page.getByRole("heading", { name: "API key required" }).waitFor();
    await page.screenshot({ path: `${screenshots}/key-entry.png` });
    await page.getByLabel("API key").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Invalid API key.").waitFor();
    await page.getByLabel("API key").fill(key ?? "");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
  }, 120_000);

  test("a lost connection is reported, and the UI continues when the server is back", async () => {
    const key = await page.evaluate(() => localStorage.getItem("millrace-api-key"));
    expect(key).toMatch(/^mr_/);
    await page.goto(server.url);
    await page.getByText("Live", { exact: true }).waitFor();
    // What is still loading then would say so, too.
    await page.getByText("Throughput, last 5 min", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".state.loading").count()).toBe(0);
    const { port } = server;
    await server.close();
    await page.getByText("The UI reconnects automatically").waitFor();
    // Only the banner explains what is wrong.
    await page.getByText("Disconnected", { exact: true }).waitFor();
    expect(await page.getByText("not responding").count()).toBe(1);
    server = await startServer({ port, dataDir });
    await page.getByText("The UI reconnects automatically").waitFor({ state: "hidden" });
    await page.getByText("Live", { exact: true }).waitFor();
  }, 120_000);
});
