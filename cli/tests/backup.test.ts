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
      /^the earlier database is .*millrace\.replaced-[\w-]+\.db now\n$/,
    ) as unknown,
  });
  const copy = start(["serve", "--port", "0", "--data", restored]);
  expect(await projectNames(addressOf(await firstLine(copy)))).toEqual(["kept"]);
});
