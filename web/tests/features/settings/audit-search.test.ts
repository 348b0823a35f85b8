import { expect, test } from "vitest";
import { parseAuditPage } from "../../../src/features/settings/audit/audit-entry.ts";
import {
  parseAuditSearch,
  toAuditQuery,
} from "../../../src/features/settings/audit/audit-search.ts";

test("a URL is parsed without its invalid values, and long texts are cut", () => {
  expect(
    parseAuditSearch({ actor: "a".repeat(300), action: 7, outcome: "won", range: "2d", all: "x" }),
  ).toEqual({ actor: "a".repeat(200), action: "7" });
  const search = { action: "createKey", outcome: "denied", range: "7d", all: true } as const;
  expect(parseAuditSearch(search)).toEqual(search);
});

test("the query of the server has the time at which the range begins", () => {
  const nowMs = Date.parse("2026-11-08T12:00:00Z");
  const query = toAuditQuery({ range: "7d", outcome: "failed", all: true }, nowMs);
  expect(Object.fromEntries(query)).toEqual({
    outcome: "failed",
    from: "2026-11-01T12:00:00.000Z",
    all_tenants: "true",
  });
});

const createEntry = (actor: object) => ({
  id: "e",
  time: "2026-11-08T12:00:00Z",
  tenant_id: "t",
  actor,
  address: null,
  action: "createKey",
  title: "create key",
  target: "",
  outcome: "succeeded",
  status: null,
  request_id: null,
});

test("an actor is named, and its filter selects the same actor", () => {
  const actors = [
    { kind: "key", id: "k", name: "" },
    { kind: "option", id: null, name: "configured key 1" },
    { kind: "open", id: null, name: null },
    { kind: "command", id: null, name: "ada" },
  ];
  const { entries } = parseAuditPage({ entries: actors.map(createEntry), next_cursor: null });
  expect(entries.map(({ actor, actorName }) => [actor, actorName])).toEqual([
    ["k", "Unnamed key"],
    ["configured key 1", "configured key 1"],
    ["open", "No key"],
    ["ada", "Command by ada"],
  ]);
  expect(() => parseAuditPage({})).toThrow("The response contains no list of audit entries.");
});

test("actions that the server describes with the same words have names that differ", () => {
  const titles = {
    createExamples: "create examples",
    uploadExamples: "create examples",
    updateExamples: "update examples",
    updateUploadedExamples: "update examples",
    deleteExamples: "delete examples",
    removeExamples: "delete examples",
    addAnnotationQueueRuns: "add runs to annotation queue",
    addAnnotationQueueRunsByKey: "add runs to annotation queue",
    shareRun: "share run",
    unshareRun: "unshare run",
    shareV2Run: "share run",
    unshareV2Run: "unshare run",
    futureShareRun: "share run",
  };
  const { actions, entries } = parseAuditPage({
    entries: Object.entries(titles).map(([action, title]) => ({
      ...createEntry({ kind: "open", id: null, name: null }),
      action,
      title,
    })),
    actions: Object.entries(titles).map(([name, title]) => ({ name, title })),
  });
  expect(actions.map(({ title }) => title)).toEqual([
    "create examples",
    "create examples (upload)",
    "update examples",
    "update examples (upload)",
    "delete examples",
    "delete examples (upload API)",
    "add runs to annotation queue",
    "add runs to annotation queue (by key)",
    "share run",
    "unshare run",
    "share run (API v2)",
    "unshare run (API v2)",
    "share run (futureShareRun)",
  ]);
  expect(entries.map(({ title }) => title)).toEqual(actions.map(({ title }) => title));
});
