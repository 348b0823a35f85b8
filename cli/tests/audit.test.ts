import { expect, test } from "vitest";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

const audit = (url: string, ...args: readonly string[]) =>
  ended(start(["audit", ...args, "--endpoint", url]));

test("audit prints what was changed, the latest first, filtered and as JSON", async () => {
  const data = await folder();
  const server = start(["serve", "--port", "0", "--data", data]);
  const url = addressOf(await firstLine(server));
  for (const name of ["first", "second\u001b[2J"]) {
    await fetch(`${url}/datasets`, { method: "POST", body: JSON.stringify({ name }) });
  }
  const printed = await audit(url);
  expect(printed).toMatchObject({ code: 0, errors: "" });
  const [latest, oldest] = printed.output.trim().split("\n");
  expect(latest).toMatch(
    /^\d{4}-\d\d-\d\dT\S+ {2}createDataset {2}second \[2J, [\da-f-]{36} {2}open {2}\S*127\.0\.0\.1 {2}succeeded$/,
  );
  expect(oldest).toContain("createDataset  first, ");

  // The command that creates a key writes an entry too, and from then on the log needs a key.
  const created = await ended(start(["keys", "create", "--name", "ci", "--data", data]));
  const key = created.output.trim();
  const refused = await audit(url);
  expect(refused.code).toBe(1);
  expect(refused.errors).toContain("an API key is required");
  const args = ["--json", "--action", "createKey", "--from", "2020-01-01", "--key", key];
  const entries = await audit(url, ...args);
  expect(JSON.parse(entries.output)).toMatchObject({
    action: "createKey",
    actor: { kind: "command" },
    address: null,
    outcome: "succeeded",
  });
  expect(entries.output).not.toContain(key);
  const limited = await audit(url, "--limit", "1", "--key", key);
  expect(limited.output.trim().split("\n")).toHaveLength(1);
});

test("audit refuses a time that is none, and names the flag", async () => {
  const { code, errors } = await audit("http://127.0.0.1:9", "--from", "soon");
  expect(code).toBe(2);
  expect(errors).toContain("--from must be a date or a time, such as 2026-11-01");
});

test("audit refuses a limit that is not a number, and names the flag", async () => {
  const { code, errors } = await audit("http://127.0.0.1:9", "--limit", "0");
  expect(code).toBe(2);
  expect(errors).toContain('--limit must be a whole number from 1, or all, not "0"');
});
