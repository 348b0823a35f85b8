import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

const keys = (data: string, ...args: readonly string[]) =>
  ended(start(["keys", ...args, "--data", data]));

const statusWith = async (url: string, key?: string): Promise<number> =>
  (await fetch(`${url}/settings`, { headers: key === undefined ? {} : { "x-api-key": key } }))
    .status;

test("a key created while the server runs is required at once, and refused once it is revoked", async () => {
  const data = await folder();
  const server = start(["serve", "--port", "0", "--data", data]);
  const url = addressOf(await firstLine(server));
  expect(await statusWith(url)).toBe(200);
  const made = await keys(data, "create", "--tenant", "acme", "--name", "ci\u001b[2J");
  expect(made).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^mr_[\w-]{43}\n$/) as unknown,
  });
  const key = made.output.trim();
  expect(await statusWith(url)).toBe(401);
  expect(await statusWith(url, "mr_wrong")).toBe(401);
  expect(await statusWith(url, key)).toBe(200);
  const settings = (await (
    await fetch(`${url}/settings`, { headers: { authorization: `Bearer ${key}` } })
  ).json()) as { id: string };
  expect(settings).toMatchObject({ tenant_handle: "acme" });
  const foreign = { "x-api-key": key, "x-tenant-id": randomUUID() };
  expect((await fetch(`${url}/settings`, { headers: foreign })).status).toBe(403);
  const own = { "x-api-key": key, "x-tenant-id": settings.id };
  expect((await fetch(`${url}/settings`, { headers: own })).status).toBe(200);

  const listed = await keys(data, "list");
  expect(listed.output).toMatch(
    /^[\w-]{36} {2}\.\.\..{4} {2}acme {2}\S+ {2}admin {2}valid {2}"ci\\u001b\[2J"\n$/,
  );
  expect(listed.output).not.toContain(key);
  const [id = ""] = listed.output.split(" ");
  expect(await keys(data, "revoke", id)).toMatchObject({
    code: 0,
    output: `revoked the key that ends in ${key.slice(-4)}\n`,
  });
  expect(await statusWith(url, key)).toBe(401);
  expect(await statusWith(url)).toBe(401);
  const lines = (await keys(data, "list", "--json")).output.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { id, tenantHandle: "acme", name: "ci\u001b[2J", revokedAt: expect.any(String) as unknown },
  ]);
});

test("a key permits what its scopes say, and an unknown scope is refused with those that exist", async () => {
  const data = await folder();
  const server = start(["serve", "--port", "0", "--data", data]);
  const url = addressOf(await firstLine(server));
  const made = await keys(data, "create", "--name", "service", "--scope", "ingest");
  const headers = { "x-api-key": made.output.trim(), "content-type": "application/json" };
  const read = await fetch(`${url}/sessions`, { headers });
  expect({ status: read.status, body: await read.json() }).toEqual({
    status: 403,
    body: { detail: expect.stringContaining("needs an API key with the scope read") as unknown },
  });
  const feedback = JSON.stringify({ run_id: randomUUID(), key: "thumbs", score: 1 });
  const sent = await fetch(`${url}/feedback`, { method: "POST", headers, body: feedback });
  expect(sent.status).toBe(200);
  expect((await keys(data, "list")).output).toMatch(/ {2}ingest {2}valid {2}"service"\n$/);
  expect(await keys(data, "create", "--scope", "owner")).toMatchObject({
    code: 2,
    errors: expect.stringContaining("ingest, read, write, admin") as unknown,
  });
});

test("a command that can't be carried out reports why, with the exit code of a failure", async () => {
  const data = await folder();
  expect(await keys(data, "create", "--tenant", "no/handle")).toMatchObject({
    code: 1,
    output: "",
    errors: expect.stringContaining("a handle must have 1 to 64 lower-case letters") as unknown,
  });
  expect(await keys(data, "revoke", randomUUID())).toMatchObject({
    code: 1,
    errors: "error: API key not found\n",
  });
  expect(await keys(data, "list")).toEqual({ code: 0, output: "", errors: "" });
});

test.each([["list"], ["revoke", randomUUID()]])(
  "%s refuses a folder without a database, and creates nothing",
  async (...args) => {
    const place = await folder();
    for (const data of [join(place, "typo"), place]) {
      expect(await keys(data, ...args)).toEqual({
        code: 1,
        output: "",
        errors: `error: there is no database in ${data}: name the data folder of the server\n`,
      });
    }
    expect(existsSync(join(place, "typo"))).toBe(false);
    expect(existsSync(join(place, "millrace.db"))).toBe(false);
  },
);

test("keys are created in the folder of MILLRACE_DATA_DIR, as the server uses it", async () => {
  const data = await folder();
  const env = { MILLRACE_DATA_DIR: data };
  const server = start(["serve", "--port", "0"], env);
  const url = addressOf(await firstLine(server));
  expect((await ended(start(["keys", "create", "--name", "ci"], env))).code).toBe(0);
  expect(await statusWith(url)).toBe(401);
});
