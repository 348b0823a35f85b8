import { runServer } from "../../server/tests/support/running-server.ts";
import { HttpResponse, http as on } from "msw";
import { expect, test } from "vitest";
import { Projects } from "../../src/api/projects.ts";
import { Tenant } from "../../src/api/tenant.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";

const wireTenant = { id: "t", display_name: "T", created_at: "2026-11-21T10:11:12Z" };

test("settings are read, with a handle if there is one", async () => {
  const handles = ["acme", null];
  const server = await mswServer(
    on.get("*/settings", () =>
      HttpResponse.json({ ...wireTenant, tenant_handle: handles.shift() ?? null }),
    ),
  );
  const tenant = new Tenant(createTestHttp(server.endpoint).http.call);
  const expected = { id: "t", displayName: "T", createdAt: wireTenant.created_at };
  expect(await tenant.settings()).toEqual({ ...expected, handle: "acme" });
  expect(await tenant.settings()).toStrictEqual(expected);
});

test("incomplete settings are a ResponseError, and a refused key is reported", async () => {
  const answers = [
    HttpResponse.json({ ...wireTenant, id: null }),
    HttpResponse.json({ detail: "wrong key" }, { status: 401 }),
  ];
  const server = await mswServer(on.get("*/settings", () => answers.shift()));
  const tenant = new Tenant(createTestHttp(server.endpoint).http.call);
  await expect(tenant.settings()).rejects.toMatchObject({ code: "ANSWER" });
  await expect(tenant.settings()).rejects.toThrow("Failed to read settings: 401 wrong key");
});

test("the tenant is the one that owns the local server's projects", async () => {
  const server = await runServer();
  const { call } = createTestHttp(server.url).http;
  const { tenantId } = await new Projects(call, "http://host.test").create({ name: "p" });
  expect(await new Tenant(call).settings()).toMatchObject({ id: tenantId });
});

test("an aborted signal sends nothing", async () => {
  const server = await mswServer();
  const tenant = new Tenant(createTestHttp(server.endpoint).http.call);
  await expect(tenant.settings({ signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "ABORTED",
  });
  expect(server.requests).toEqual([]);
});

test("setting a handle returns the settings, and a malformed handle is refused", async () => {
  const server = await mswServer(
    on.post("*/settings/handle", () => HttpResponse.json({ ...wireTenant, tenant_handle: "acme" })),
  );
  const tenant = new Tenant(createTestHttp(server.endpoint).http.call);
  expect(await tenant.setHandle("acme")).toMatchObject({ id: "t", handle: "acme" });
  for (const handle of ["", "-", "a/b", "..", "é", "a b", "a\r\nb", "a".repeat(101)]) {
    await expect(tenant.setHandle(handle)).rejects.toMatchObject({ code: "VALIDATION" });
  }
  expect(server.requests).toMatchObject([
    { target: "POST /settings/handle", body: { tenant_handle: "acme" } },
  ]);
});
