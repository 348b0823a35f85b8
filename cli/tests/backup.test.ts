import { join } from "node:path";
import { expect, test } from "vitest";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

const run = (...args: readonly string[]) => ended(start(args));

const projectNames = async (url: string): Promise<readonly string[]> => {
  const projects = (await (await fetch(`${url}/sessions`)).json()) as readonly { name: string }[];
  return projects.map(({ name }) => name);
};

test("a backup of a running server is restored into another folder, and served", async () => {
  const data = await folder();
  const other = await folder();
  const [file, key] = [join(other, "traces.db"), join(other, "token.key")];
  const server = start(["serve", "--port", "0", "--data", data]);
  const url = addressOf(await firstLine(server));
  const created = await fetch(`${url}/sessions`, {
    method: "POST",
    body: JSON.stringify({ name: "kept" }),
  });
  expect(created.status).toBe(200);
  expect(await run("backup", file, "--data", data, "--token-key", key)).toEqual({
    code: 0,
    output: expect.stringMatching(
      new RegExp(String.raw`^copied the database of ${data} to ${file} \([\d.]+ [kM]B\)\n$`),
    ) as unknown,
    errors: "",
  });
  expect(await run("restore", file, "--data", data)).toMatchObject({
    code: 1,
    output: "",
    errors: expect.stringContaining("is in use by another millrace server: stop it") as unknown,
  });

  const restored = join(other, "restored");
  expect(await run("restore", file, "--data", restored)).toEqual({
    code: 0,
    output: `restored ${file} to ${restored}\n`,
    errors:
      "the folder has no token.key: earlier links work, but their addresses can't be shown until --token-key adds it\n",
  });
  expect(await run("restore", file, "--data", restored)).toMatchObject({
    code: 1,
    errors: expect.stringContaining("contains a database") as unknown,
  });
  expect(
    await run("restore", file, "--data", restored, "--replace", "--token-key", key),
  ).toMatchObject({
    code: 0,
    errors: expect.stringMatching(
      /^the earlier database was renamed to .*millrace\.replaced-[\w-]+\.db\n$/,
    ) as unknown,
  });
  const copy = start(["serve", "--port", "0", "--data", restored]);
  expect(await projectNames(addressOf(await firstLine(copy)))).toEqual(["kept"]);
});

test("a tenant is restored beside another one, and a backup says which kind it is", async () => {
  const [data, other] = [await folder(), await folder()];
  const file = join(data, "acme.backup");
  const key = (await run("keys", "create", "--tenant", "acme", "--data", data)).output.trim();
  await run("keys", "create", "--tenant", "first", "--data", other);
  const backedUp = await run("backup", file, "--tenant", "acme", "--data", data);
  expect(backedUp).toEqual({
    code: 0,
    output: `copied 3 rows (runs: 0) of the tenant acme to ${file} (3 kB)\n`,
    errors: "",
  });
  expect(await run("restore", file, "--data", other)).toMatchObject({
    code: 2,
    errors: `error: ${file} is the backup of a tenant: pass --tenant with the tenant to restore it to\n`,
  });
  const keyFile = join(data, "token.key");
  expect(
    await run("restore", file, "--data", other, "--tenant", "acme", "--token-key", keyFile),
  ).toEqual({
    code: 0,
    output: `restored 3 rows (runs: 0) from ${file} to the tenant acme; the counts and hashes of the rows match the file\n`,
    errors: "",
  });
  const server = start(["serve", "--port", "0", "--data", other]);
  const url = addressOf(await firstLine(server));
  const response = await fetch(`${url}/settings`, { headers: { "x-api-key": key } });
  expect(await response.json()).toMatchObject({ tenant_handle: "acme" });
  expect(await run("restore", file, "--data", other, "--tenant", "again")).toMatchObject({
    code: 1,
    errors: expect.stringContaining("is in use by another millrace server: stop it") as unknown,
  });
});

test("a move says what it needs, and can be abandoned", async () => {
  const data = await folder();
  await run("keys", "create", "--data", data);
  expect(await run("move", "--data", data)).toMatchObject({
    code: 2,
    errors:
      "error: millrace move needs the PostgreSQL database: pass --store (MILLRACE_STORE_URL)\n",
  });
  const malformed = await run("move", "--data", data, "--store", "mysql://me:hidden@db/x");
  expect([malformed.code, malformed.errors]).toEqual([
    2,
    expect.stringMatching(/^error: --store \(MILLRACE_STORE_URL\) must be a URL/) as unknown,
  ]);
  const store = "postgres://me:hidden@127.0.0.1:1/x";
  const missing = await run("move", "--data", join(data, "none"), "--store", store);
  expect([missing.code, missing.errors]).toEqual([
    1,
    expect.stringMatching(/^error: there is no database in .*: name the data folder/) as unknown,
  ]);
  const away = await run("move", "--data", data, "--store", store);
  expect([away.code, away.errors]).toEqual([
    1,
    expect.stringMatching(/^error: Failed to open the store at 127\.0\.0\.1:1\/x: /) as unknown,
  ]);
  expect(`${malformed.errors}${away.errors}`).not.toContain("hidden");
  expect(await run("move", "--data", data, "--abandon")).toEqual({
    code: 0,
    output: `${data} accepts writes; empty the PostgreSQL database before another move\n`,
    errors: "",
  });
});

test("a restore that is refused names the option of the command that allows it", async () => {
  const data = await folder();
  const [file, whole] = [join(data, "acme.backup"), join(data, "whole.db")];
  await run("keys", "create", "--tenant", "acme", "--data", data);
  await run("backup", file, "--tenant", "acme", "--data", data);
  await run("backup", whole, "--data", data);
  const refusal = async (...args: readonly string[]) => {
    const { code, errors } = await run("restore", ...args, "--data", data);
    expect(code).toBe(1);
    return errors;
  };
  expect(await refusal(file, "--tenant", "acme")).toMatch(
    /^error: Failed to restore the tenant acme, and nothing was changed: the tenant exists, .* pass --replace, /,
  );
  expect(await refusal(whole, "--tenant", "acme")).toBe(
    `error: ${whole} is not the backup of a tenant: it looks like the backup of a whole server, which is restored without --tenant\n`,
  );
  expect(await refusal(whole)).toBe(
    `error: ${data} contains a database: choose another data folder, or pass --replace, which renames the database\n`,
  );
  expect(await run("restore", file, "--tenant", "acme", "--replace", "--data", data)).toMatchObject(
    {
      code: 0,
    },
  );
});
