import { describe, expect, test } from "vitest";
import type { ResourceCall } from "../../../storage/thread-reply.ts";
import type { Readers, Writers } from "../../repositories.ts";
import { planRead, planWrite } from "../call-plan.ts";

const read = (resource: string, method: string, ...args: readonly unknown[]) =>
  planRead({ resource, method, args } as ResourceCall<Readers>);
const write = (resource: string, method: string, ...args: readonly unknown[]) =>
  planWrite({ resource, method, args } as ResourceCall<Writers>);

describe("a query runs", () => {
  test("for the tenant that it names", () => {
    expect(read("projects", "find", "t", "p")).toEqual({ kind: "tenant", tenantId: "t" });
  });

  test("for the tenant of a share, if a visitor names its token", () => {
    expect(read("datasets", "findShared", "token")).toEqual({ kind: "token", token: "token" });
  });

  test("for all tenants, if it is one of the server itself", () => {
    expect(read("webhooks", "listDue", 1)).toEqual({ kind: "all" });
    expect(read("tenants", "findByKey", "key")).toEqual({ kind: "all" });
    // Its link is signed.
    expect(read("examples", "findBlob", 7)).toEqual({ kind: "all" });
  });

  test("of the audit log for the tenant whose entries are listed, or for all tenants", () => {
    expect(read("audit", "list", "t", { tenantId: "u", limit: 1 })).toEqual({
      kind: "tenant",
      tenantId: "u",
    });
    expect(read("audit", "list", "t", { tenantId: undefined, limit: 1 })).toEqual({ kind: "all" });
  });

  test.each([[undefined], [1], ["*"]])("never without a tenant: %s", (tenantId) => {
    expect(() => read("projects", "list", tenantId)).toThrow("projects.list needs the id");
  });
});

describe("a write", () => {
  test("of a tenant excludes the others of the tenant, but not those of datasets", () => {
    expect(write("views", "create", "t").locks).toEqual([{ name: "t/rest", isShared: false }]);
    expect(write("prices", "set", "t").locks).toEqual(write("views", "create", "t").locks);
    expect(write("examples", "create", "t").locks).toEqual([
      { name: "t/datasets", isShared: false },
    ]);
  });

  test("for all tenants excludes those of each tenant to the same resource", () => {
    const all = write("jobs", "claim", { owner: "o" });
    expect(all).toEqual({
      tenant: { kind: "all" },
      locks: [{ name: "all/jobs", isShared: false }],
    });
    expect(write("jobs", "cancel", "t", "j").locks).toEqual([
      { name: "all/jobs", isShared: true },
      { name: "t/rest", isShared: false },
    ]);
  });

  test("of an entry of the audit log waits for no other write", () => {
    expect(write("audit", "record", "t", {})).toEqual({
      tenant: { kind: "tenant", tenantId: "t" },
      locks: [],
    });
  });

  test("finds its tenant in a member of its first argument, where that has it", () => {
    expect(write("jobs", "record", { tenantId: "t" }, {}).tenant).toEqual({
      kind: "tenant",
      tenantId: "t",
    });
    expect(() => write("rules", "advancePast", {})).toThrow("rules.advancePast needs the id");
  });

  test("of prompts may change those of other tenants, which like and count them", () => {
    expect(write("prompts", "like", "t", {}).tenant).toEqual({ kind: "all" });
    expect(write("prompts", "like", "t", {}).locks).toEqual([{ name: "t/rest", isShared: false }]);
  });
});
