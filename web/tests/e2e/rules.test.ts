import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "millrace";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../../../server/dist/storage/sqlite/connection.js";
import { databaseFileName } from "../../../server/dist/storage/sqlite/open-database.js";
import { findFaults } from "../support/axe.ts";
import { startBrowser } from "../support/browser.ts";
import { press } from "../support/key-effects.ts";
import { openPage } from "../support/opened-page.ts";
import type { OpenedPage } from "../support/opened-page.ts";
import { showScreen } from "../support/screenshots.ts";

const browser = await startBrowser();
const project = "support";

describe.skipIf(browser === undefined)("rules, alerts and webhooks, in Chromium", () => {
  let opened: OpenedPage;
  let client: Client;
  let page: Page;
  let projectAddress: string;
  let rulesAddress: string;
  let receiver: Server;
  let hookUrl: string;
  let dataDir: string;
  let respondWith = 200;
  const received: string[] = [];
  const signatures: string[] = [];

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk.toString()));
      signatures.push(String(request.headers["webhook-signature"]));
      request.on("end", () =>
        response.writeHead(respondWith, { location: "http://127.0.0.1:1/inside" }).end(),
      );
    });
    await new Promise<void>((resolve) => {
      receiver.listen(0, "127.0.0.1", resolve);
    });
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    hookUrl = `http://${host}/hook`;
    dataDir = mkdtempSync(join(tmpdir(), "millrace-e2e-"));
    opened = await openPage(browser!, project, { webhookHosts: [host], dataDir });
    ({ client, page } = opened);
    client.startRun({ name: "good" }).end({ answer: "yes" });
    client.startRun({ name: "bad" }).fail(new Error("no"));
    await client.flush();
    projectAddress = await opened.projectAddress();
    const tenant = projectAddress.replace(/\/projects\/.*/, "");
    rulesAddress = `${tenant}/rules?project=${projectAddress.split("/").at(-1)}`;
  }, 60_000);

  beforeEach(() => {
    opened.faults.length = 0;
  });

  afterAll(async () => {
    receiver?.closeAllConnections();
    receiver?.close();
    await opened?.close();
    rmSync(dataDir, { recursive: true, force: true });
    await browser?.close();
  });

  const dialog = (name: string) => page.getByRole("dialog", { name });
  const card = (list: string, name: string) =>
    page.getByRole("list", { name: list }).getByRole("listitem").filter({ hasText: name });

  test("the page is in the navigation, and says what each tab is for while it is empty", async () => {
    await page.goto(projectAddress);
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByText("No rules yet").waitFor();
    await page.getByRole("link", { name: "Alerts" }).click();
    await page.getByText("No alerts yet").waitFor();
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("No webhooks yet").waitFor();
    expect(await page.title()).toBe("Webhooks · Millrace");
    await press(page, "g", "r");
    await page.getByText("No rules yet").waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(opened.faults).toEqual([]);
  });

  test("an address that is not allowed is refused with what is; a listed one shows its secret once", async () => {
    await page.goto(`${rulesAddress}&tab=webhooks`);
    await page.getByRole("button", { name: "New webhook" }).click();
    const form = dialog("New webhook");
    await form.getByLabel("Name").fill("\u202eevil <b>");
    await form.getByLabel("URL").fill("http://10.0.0.1/");
    await form.getByRole("button", { name: "Create webhook" }).click();
    const url = form.getByLabel("URL");
    await expect.poll(async () => url.getAttribute("aria-invalid")).toBe("true");
    const reason = await form.getByText("--webhook-host 10.0.0.1").innerText();
    expect(reason).toMatch(/^[A-Z][^:]* .*\.$/);
    await form.getByRole("alert").filter({ hasText: "Check the marked field." }).waitFor();
    await showScreen(page, "webhook-refused");
    opened.faults.length = 0;
    await form.getByLabel("URL").fill(hookUrl);
    await form.getByRole("button", { name: "Create webhook" }).click();
    const created = dialog("Webhook created");
    const secret = await created.getByText(/^whsec_/).textContent();
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    await showScreen(page, "webhook-secret");
    expect(await findFaults(page)).toEqual([]);
    await created.getByRole("button", { name: "Done" }).click();
    await card("Webhooks", hookUrl).waitFor();
    expect(await card("Webhooks", hookUrl).textContent()).toContain("\\u202eevil <b>");
    expect(await page.content()).not.toContain("whsec_");
    expect(opened.faults).toEqual([]);
  });

  test("a test says whether the receiver accepted it", async () => {
    await page.goto(`${rulesAddress}&tab=webhooks`);
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("Accepted with status 200").waitFor();
    expect(received.some((body) => body.includes("webhook.test"))).toBe(true);
    respondWith = 418;
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The receiver responded with status 418.").waitFor();
    respondWith = 302;
    const before = received.length;
    await page.getByRole("button", { name: "Send a test" }).click();
    await page
      .getByText("it redirects (302) to http://127.0.0.1:1. Redirects are not followed")
      .waitFor();
    expect(received).toHaveLength(before + 1);
    respondWith = 200;
    await showScreen(page, "webhooks");
    expect(opened.faults).toEqual([]);
  });

  test("a changed secret is shown once, and until the old one ends there are two signatures", async () => {
    await page.goto(`${rulesAddress}&tab=webhooks`);
    await card("Webhooks", hookUrl)
      .getByRole("button", { name: /^Actions/ })
      .click();
    await page.getByRole("menuitem", { name: "Change secret" }).click();
    const form = dialog("Change the secret of");
    await form.getByRole("combobox", { name: "The current secret stays valid for" }).waitFor();
    await showScreen(page, "webhook-change-secret");
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole("button", { name: "Change secret" }).click();
    const changed = dialog("Secret changed");
    expect(await changed.getByText(/^whsec_/).textContent()).toMatch(/^whsec_[\w+/]{43}=$/);
    await changed.getByRole("button", { name: "Done" }).click();
    await card("Webhooks", hookUrl).getByText("The old secret is valid until").waitFor();
    expect(await page.content()).not.toContain("whsec_");
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("Accepted with status 200").waitFor();
    expect(signatures.at(-1)?.split(" ")).toHaveLength(2);
    expect(signatures[0]?.split(" ")).toHaveLength(1);
    await showScreen(page, "webhook-two-secrets");
    expect(opened.faults).toEqual([]);
  });

  test("the form of a rule shows how many traces match, and the rule sends the next ones", async () => {
    await page.goto(rulesAddress);
    await page.getByRole("button", { name: "New rule" }).click();
    const form = dialog("New rule");
    await form.getByText("Matches 2 traces of the last 24 h").waitFor();
    await form.getByLabel("Name").fill("Failures");
    await form.getByRole("combobox", { name: "Filter" }).fill('name = "bad"');
    await form.getByLabel("Action").selectOption({ label: "Send to webhook" });
    await form.getByRole("button", { name: "Create rule" }).click();
    await form.getByText("The text in the filter has not been applied yet.").waitFor();
    await form.getByRole("combobox", { name: "Filter" }).press("Enter");
    await form.getByText("Matches 1 trace of the last 24 h").waitFor();
    await showScreen(page, "rule-form");
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole("button", { name: "Create rule" }).click();
    await card("Rules", "Failures").waitFor();
    received.length = 0;
    client.startRun({ name: "good" }).end({ answer: "yes" });
    client.startRun({ name: "bad" }).fail(new Error("again"));
    await client.flush();
    await card("Rules", "1 matched, 1 applied").waitFor();
    await expect.poll(() => received.length).toBe(1);
    expect(received[0]).toContain('"name":"bad"');
    expect(opened.faults).toEqual([]);
  });

  test("a delivery that failed for good is shown with its reason, and can be sent again", async () => {
    respondWith = 500;
    client.startRun({ name: "bad" }).fail(new Error("unheard"));
    await client.flush();
    await page.goto(`${rulesAddress}&tab=webhooks`);
    await page.getByRole("button", { name: /^Deliveries of/ }).click();
    const deliveries = dialog("Deliveries of").getByRole("list", { name: "Deliveries" });
    const latest = deliveries.getByRole("listitem").first();
    await expect
      .poll(async () => latest.innerText(), { timeout: 15_000 })
      .toMatch(/status 500.*\(\d attempts?\) Next attempt at 2\d{3}-\d\d-\d\d \d\d:\d\d:\d\d\./s);
    // The last attempt is made about 18 hours after the first; the row is changed to what is stored then.
    const db = openDatabase(join(dataDir, databaseFileName));
    db.exec(
      "UPDATE webhook_deliveries SET state = 2, attempts = 8, next_us = NULL WHERE state = 0",
    );
    db.close();
    await latest.getByText("Failed").waitFor();
    expect(await latest.innerText()).toMatch(/status 500.*\(8 attempts\)$/s);
    await showScreen(page, "webhook-deliveries");
    expect(await findFaults(page)).toEqual([]);
    respondWith = 200;
    received.length = 0;
    await latest.getByRole("button", { name: /^Send again: delivery/ }).click();
    await latest.getByText("Delivered").waitFor();
    expect(received).toHaveLength(1);
    expect(received[0]).toContain("unheard");
    await dialog("Deliveries of").getByRole("button", { name: "Done" }).click();
    expect(opened.faults).toEqual([]);
  }, 60_000);

  test("without a model endpoint, the form says why no judge can be saved", async () => {
    await page.goto(rulesAddress);
    await page.getByRole("button", { name: "New rule" }).click();
    const form = dialog("New rule");
    await form.getByLabel("Name").fill("Judge");
    await form.getByLabel("Action").selectOption({ label: "Let a model judge the run" });
    await form.getByText("No model endpoints").waitFor();
    expect(await form.getByText("--model-endpoint").count()).toBe(1);
    expect(await form.getByRole("button", { name: "Create rule" }).isDisabled()).toBe(true);
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole("button", { name: "Cancel" }).click();
    expect(opened.faults).toEqual([]);
  });

  test("a rule can be applied to past runs, disabled and deleted", async () => {
    await page.goto(rulesAddress);
    await page.getByRole("button", { name: "Actions of Failures" }).click();
    await page.getByRole("menuitem", { name: "Apply to past traces" }).click();
    await dialog("Apply to past traces").getByRole("button", { name: "Apply" }).click();
    await card("Rules", "3 matched, 3 applied").waitFor();
    await page.getByRole("switch", { name: "Enable Failures" }).click({ force: true });
    await expect
      .poll(async () => page.getByRole("switch", { name: "Enable Failures" }).isChecked())
      .toBe(false);
    await showScreen(page, "rules-disabled");
    await page.getByRole("button", { name: "Actions of Failures" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog("Delete Failures?").getByRole("button", { name: "Delete rule" }).click();
    await page.getByText("No rules yet").waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("an alert from the dashboard watches the runs whose metrics it shows", async () => {
    const form = dialog("New alert");
    await page.goto(`${projectAddress}/dashboard?scope=all&group=name`);
    await page.getByRole("link", { name: "Create alert on Error rate" }).click();
    expect(await form.getByLabel("Metric").inputValue()).toBe("error_rate");
    expect(await form.getByLabel("Runs", { exact: true }).inputValue()).toBe("all");
    expect(await form.getByLabel("Filter by").inputValue()).toBe("");
    await page.goto(`${projectAddress}/dashboard?scope=all&group=name`);
    await page.getByRole("link", { name: "Create alert on good" }).click();
    expect(await form.getByLabel("Runs", { exact: true }).inputValue()).toBe("all");
    expect(await form.getByLabel("Filter by").inputValue()).toBe("name");
    expect(await form.getByRole("textbox", { name: "Name" }).nth(1).inputValue()).toBe("good");
    const filter = 'eq(name, "good")';
    await page.goto(
      `${projectAddress}/dashboard?group=status&filter=${encodeURIComponent(filter)}`,
    );
    await page.getByRole("link", { name: "Create alert on success" }).click();
    expect(await form.getByLabel("Filter by").inputValue()).toBe("status");
    expect(await form.getByLabel("Status").inputValue()).toBe("success");
    await form.getByRole("button", { name: "Edit name = good" }).waitFor();
    await form.getByLabel("Metric").selectOption("runs");
    await form.getByRole("textbox", { name: "Name" }).fill("Good traces");
    await showScreen(page, "alert-form-filter");
    await form.getByLabel("Threshold (runs)").fill("7");
    await form.getByRole("button", { name: "Create alert" }).click();
    await card(
      "Alerts",
      "Runs of traces with status success, filtered by name = good, above 7 over 15 min",
    ).waitFor();
    await page.getByRole("button", { name: "Actions of Good traces" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog("Delete Good traces?").getByRole("button", { name: "Delete alert" }).click();
    await page.getByText("No alerts yet").waitFor();
    expect(opened.faults).toEqual([]);
  });

  test("a tile of the dashboard opens the form of an alert on its metric", async () => {
    await page.goto(`${projectAddress}/dashboard`);
    await page.getByRole("link", { name: "Create alert on p95 latency" }).click();
    const form = dialog("New alert");
    expect(await form.getByLabel("Metric").inputValue()).toBe("latency_p95");
    expect(await form.getByRole("button", { name: "Create alert" }).isDisabled()).toBe(true);
    await form.getByLabel("Name").fill("Slow answers");
    await form.getByLabel("Threshold (s)").fill("2.5");
    await form.getByLabel("Filter by").selectOption({ label: "Name" });
    await form.getByRole("textbox", { name: "Name" }).nth(1).fill("good");
    await form.getByLabel("Webhook").selectOption({ index: 1 });
    await showScreen(page, "alert-form");
    expect(await findFaults(page)).toEqual([]);
    await form.getByRole("button", { name: "Create alert" }).click();
    const text = "p95 latency of traces with name good above 2.50 s over 15 min";
    await card("Alerts", text).waitFor();
    expect(await card("Alerts", text).innerText()).toMatch(
      /Not evaluated yet[\s\S]*First evaluation by \d\d:\d\d:\d\d/,
    );
    await showScreen(page, "alerts");
    const tenant = rulesAddress.replace(/\/o\/.*/, "");
    const id = projectAddress.split("/").at(-1);
    const response = await fetch(`${tenant}/ui/alerts?session=${id}`);
    expect(await response.json()).toMatchObject([
      { threshold: 2_500, group: { by: "name", value: "good" }, window_minutes: 15 },
    ]);
    expect(new URL(page.url()).searchParams.get("figure")).toBeNull();
    expect(opened.faults).toEqual([]);
  });

  test("an alert has a history, and is deleted after a confirmation", async () => {
    await page.goto(`${rulesAddress}&tab=alerts`);
    await page.getByRole("button", { name: "Actions of Slow answers" }).click();
    await page.getByRole("menuitem", { name: "History" }).click();
    const history = dialog("History of Slow answers");
    await history
      .getByText(/No changes yet|OK|No data/)
      .first()
      .waitFor();
    await press(page, "Escape");
    await page.getByRole("button", { name: "Actions of Slow answers" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await dialog("Delete Slow answers?").getByRole("button", { name: "Delete alert" }).click();
    await page.getByText("No alerts yet").waitFor();
    expect(opened.faults).toEqual([]);
  });
});
