import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint } from "millrace/model";
import { expect, test } from "vitest";
import { auditOf, auditRules } from "../endpoint-audit.ts";
import { scopeOf } from "../endpoint-scope.ts";
import { v2Endpoints } from "../v2-endpoints.ts";

const all = Object.entries<Endpoint>({ ...endpoints, ...uiEndpoints, ...v2Endpoints });

test("each endpoint that can change something is audited, or excluded with a reason", () => {
  const missing = all
    .filter(([, { method }]) => method !== "GET")
    .filter(([name, endpoint]) => {
      const rule = auditRules[name];
      const hasReason = rule !== undefined && "reason" in rule && rule.reason.length > 20;
      return auditOf(endpoint) === undefined && !hasReason;
    })
    .map(([name]) => name);
  expect(missing).toEqual([]);
});

test("no rule names an endpoint that does not exist, and none is excluded that needs the scope admin", () => {
  const names = new Set(all.map(([name]) => name));
  expect(Object.keys(auditRules).filter((name) => !names.has(name))).toEqual([]);
  const silent = all
    .filter(([, endpoint]) => endpoint.method !== "GET" && scopeOf(endpoint) === "admin")
    .filter(([, endpoint]) => auditOf(endpoint) === undefined);
  expect(silent).toEqual([]);
});
