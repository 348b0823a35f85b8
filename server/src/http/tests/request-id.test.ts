import { expect, test } from "vitest";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { readRequestId } from "../request-id.ts";

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

test.each(["req-0001", "7d0a7b0e-6d8c-4f0e-9d0e-0a5e6f5b7d11", "a.b:c@d_e-f0"])(
  "the id %s of a client is kept",
  (id) => {
    expect(readRequestId({ headers: { "x-request-id": id } })).toBe(id);
  },
);

test.each([
  "",
  "short",
  "with space",
  "line\nbreak",
  "<script>alert",
  "é".repeat(10),
  "a".repeat(129),
])("the malformed id %j is replaced by a new one", (id) => {
  expect(readRequestId({ headers: { "x-request-id": id } })).toMatch(uuid);
});

test("each response has the id of its request, and the audit log records it", async () => {
  const server = await runServer();
  const headers = { "x-request-id": "from-a-proxy-1" };
  const created = await call(server, "POST /datasets", { headers, body: { name: "d" } });
  expect(created.headers.get("x-request-id")).toBe("from-a-proxy-1");
  const { json } = await call(server, "GET /ui/audit?action=createDataset");
  expect(json["entries"]?.[0]?.["request_id"]).toBe("from-a-proxy-1");
  const missing = await call(server, "GET /wibble");
  expect([missing.status, missing.headers.get("x-request-id")]).toEqual([
    404,
    expect.stringMatching(uuid) as string,
  ]);
});
