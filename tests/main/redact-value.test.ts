import { expect, test } from "vitest";
import { Client } from "../../src/main/index.ts";
import { maskEverything } from "../../src/model/options/redaction.ts";
import { redactValue } from "../../src/delivery/redact-value.ts";

test("client.redact masks what the client's rules match, at any depth, as in a run", async () => {
  await using client = closing(
    new Client({
      endpoint: "http://127.0.0.1:9",
      redact: ["emails", { name: "pin", keys: ["pin"] }],
    }),
  );
  const value = { text: "from ann@example.com to Bob", list: [{ pin: 4_711, size: 2 }] };
  expect(await client.redact(value)).toEqual({
    text: "from [email]******** to Bob",
    list: [{ pin: "****", size: 2 }],
  });
  expect(value.text).toContain("ann@example.com");
  expect(await client.redact("ann@example.com")).toBe("[email]********");
});

test("client.redact returns the value itself where the client has no rules", async () => {
  await using client = closing(new Client({ endpoint: "http://127.0.0.1:9" }));
  const value = { text: "ann@example.com" };
  expect(await client.redact(value)).toBe(value);
});

test("a long text is masked as a whole, and rules that can't be read mask everything", async () => {
  const text = `${"x ".repeat(100_000)}end`;
  expect(await redactValue({ text }, maskEverything)).toEqual({
    text: `[redaction-failed]${"*".repeat(text.length - "[redaction-failed]".length)}`,
  });
});

const closing = (client: Client): Client & AsyncDisposable =>
  Object.assign(client, {
    [Symbol.asyncDispose]: async () => {
      await client.close();
    },
  });
