import { describe, expect, test } from "vitest";
import {
  describeAlert,
  describeFirstEvaluation,
  figures,
  formatWindow,
  parseAlertHistory,
  parseAlerts,
  toAlertRuns,
} from "../../../src/features/rules/alert.ts";
import { describeCounts, parseRules, toRuleBody } from "../../../src/features/rules/rule.ts";
import { parseRulesSearch } from "../../../src/features/rules/rules-search.ts";
import { parseDeliveries, parseWebhooks } from "../../../src/features/rules/webhook.ts";

describe("rules", () => {
  const wireRule = {
    id: "1",
    name: "r",
    filter: 'eq(name, "x")',
    sampling_rate: 0.5,
    action: { kind: "dataset", dataset_id: "d" },
    is_enabled: true,
    paused_reason: null,
    matched: 3,
    applied: 2,
    failed: 1,
    last_errors: [{ run_id: "run", at: "2026-11-21T10:00:00Z", reason: "gone" }],
    past: {
      from: "2026-11-21T10:00:00Z",
      to: "2026-11-21T12:00:00Z",
      position: "2026-11-21T10:30:00Z",
    },
  };

  test("the server's JSON is parsed, with the progress over past runs", () => {
    expect(parseRules([wireRule])).toMatchObject([
      {
        action: { kind: "dataset", targetId: "d" },
        pausedReason: undefined,
        pastProgress: 0.25,
        errors: [{ runId: "run", reason: "gone" }],
      },
    ]);
    expect(() => parseRules({})).toThrow(TypeError);
  });

  test("an action of a later version has no target", () => {
    const [rule] = parseRules([{ ...wireRule, action: { kind: "judge", judge_id: "j" } }]);
    expect(rule?.action).toBeUndefined();
  });

  test("a draft becomes the body of a request", () => {
    expect(
      toRuleBody({
        name: " n ",
        filter: "",
        samplingPercent: 12.5,
        action: { kind: "queue", targetId: "q" },
      }),
    ).toEqual({
      name: "n",
      filter: "",
      sampling_rate: 0.125,
      action: { kind: "queue", queue_id: "q" },
    });
  });

  test("a judge is parsed to what is entered, and becomes the same body again", () => {
    const action = {
      kind: "judge",
      key: "quality",
      template: "{{output}}",
      form: { kind: "categories", categories: ["good", "bad"] },
      endpoint: "local",
      model: "m",
      max_tokens: 50,
    };
    const [rule] = parseRules([{ ...wireRule, action }]);
    expect(rule?.action).toMatchObject({
      kind: "judge",
      judge: { key: "quality", categories: "good, bad", maxTokens: "50", temperature: "" },
    });
    const body = toRuleBody({
      name: "n",
      filter: "",
      samplingPercent: 100,
      action: rule!.action!,
    });
    expect(body.action).toEqual(action);
  });

  test("waiting and failed runs are only counted if there are any", () => {
    expect(describeCounts({ matched: 2, applied: 2, failed: 0, samplingRate: 1 })).toBe(
      "2 matched, 2 applied",
    );
    expect(describeCounts({ matched: 2, applied: 2, failed: 0, samplingRate: 0.5 })).toBe(
      "2 sampled, 2 applied",
    );
    expect(describeCounts({ matched: 4, applied: 1, failed: 1, samplingRate: 1 })).toBe(
      "4 matched, 1 applied, 2 waiting, 1 failed",
    );
  });
});

describe("alerts", () => {
  const wireAlert = {
    id: "1",
    name: "a",
    figure: "error_rate",
    scope: "models",
    group: { by: "model", value: 'gpt "5"' },
    window_minutes: 15,
    direction: "above",
    threshold: 0.05,
    webhook_id: null,
    is_enabled: true,
    state: "firing",
    value: 0.1,
    evaluated_at: "2026-11-21T10:30:20Z",
    changed_at: null,
    problem: null,
  };
  const [alert] = parseAlerts([wireAlert]);

  test("an alert is described in one sentence, with the unit of its figure", () => {
    expect(alert && describeAlert(alert)).toBe(
      'Error rate of model calls with model gpt "5" above 5 % over 15 min',
    );
    expect(alert && describeAlert({ ...alert, figure: "latency_p95", threshold: 2_500 })).toContain(
      "p95 latency of model calls",
    );
    const [filtered] = parseAlerts([
      { ...wireAlert, group: { by: "status", value: "error" }, filter: 'gt(latency, "2s")' },
    ]);
    expect(filtered && describeAlert(filtered)).toBe(
      "Error rate of model calls with status error, filtered by latency > 2s, above 5 % over 15 min",
    );
    expect(formatWindow(180)).toBe("3 h");
    expect(figures.error_rate.format(0.071)).toBe("7.1 %");
  });

  test("the runs behind an alert are those of its last whole minutes, that it counts", () => {
    expect(alert && toAlertRuns(alert)).toEqual({
      all: true,
      from: "2026-11-21T10:15:00.000Z",
      to: "2026-11-21T10:29:59.999Z",
      filter:
        'and(in(run_type, ["llm", "embedding"]), eq(model, "gpt \\"5\\""), eq(status, "error"))',
    });
    const filter = 'and(eq(name, "a"), gt(latency, "2s"))';
    const [filtered] = parseAlerts([{ ...wireAlert, scope: "traces", group: null, filter }]);
    expect(filtered && toAlertRuns(filtered)).toMatchObject({
      filter: 'and(eq(name, "a"), gt(latency, "2s"), eq(status, "error"))',
    });
    const [runs] = parseAlerts([{ ...wireAlert, figure: "runs", scope: "traces", group: null }]);
    expect(runs && toAlertRuns(runs)).not.toHaveProperty("filter");
    const [never] = parseAlerts([{ ...wireAlert, evaluated_at: null }]);
    expect(never && toAlertRuns(never)).toBeUndefined();
  });

  test("a new alert names the latest time of its first evaluation", () => {
    const [created] = parseAlerts([{ ...wireAlert, created_at: "2026-11-21T10:30:20Z" }]);
    const createdMs = Date.parse("2026-11-21T10:30:20Z");
    const readText = (nowMs: number) => created && describeFirstEvaluation(created, nowMs);
    expect(readText(createdMs + 59_000)).toMatch(/^First evaluation by \d\d:31:20$/);
    expect(readText(createdMs + 61_000)).toBe("First evaluation within a minute");
  });

  test("unknown states count as no data", () => {
    expect(
      parseAlertHistory([{ at: "2026-11-21T10:00:00Z", state: "later", value: null }]),
    ).toEqual([{ atMs: Date.parse("2026-11-21T10:00:00Z"), state: "no_data", value: undefined }]);
  });
});

describe("webhooks", () => {
  test("webhooks and deliveries are parsed", () => {
    expect(
      parseWebhooks([
        { id: "1", name: "n", url: "https://e.com/", is_enabled: false, delivered: 4, dead: 2 },
      ]),
    ).toMatchObject([{ isEnabled: false, delivered: 4, dead: 2, waiting: 0 }]);
    expect(
      parseDeliveries([{ id: "1", event: "test", state: "dead", attempts: 8, last_error: "no" }]),
    ).toMatchObject([{ state: "dead", attempts: 8, lastError: "no", nextMs: undefined }]);
    expect(() => parseDeliveries([{ id: 1 }])).toThrow(TypeError);
  });
});

test("invalid search parameters are left out", () => {
  expect(parseRulesSearch({ tab: "alerts", project: "x", figure: 1 })).toEqual({
    tab: "alerts",
    figure: "1",
  });
  expect(parseRulesSearch({ tab: "nothing" })).toEqual({});
});
