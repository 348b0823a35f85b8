import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recompute } from "../src/prices/recompute.ts";
import { PriceClient } from "../src/prices/price-client.ts";
import type { RecomputeProgress } from "../src/prices/price-client.ts";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

/** Starts a server with an empty data folder. */
async function runServer(): Promise<{ readonly url: string }> {
  const server = start(["serve", "--port", "0", "--data", await folder()]);
  return { url: addressOf(await firstLine(server)) };
}

const prices = (url: string, ...args: readonly string[]) =>
  ended(start(["prices", ...args, "--endpoint", url]));

/** Sends model calls of 1,000 input tokens and 100 output tokens. */
async function sendCalls(url: string, models: readonly string[]): Promise<void> {
  const post = models.map((model) => {
    const id = randomUUID();
    return {
      id,
      trace_id: id,
      dotted_order: `20261101T000000000000Z${id}`,
      name: "call",
      run_type: "llm",
      session_name: "p",
      extra: { metadata: { ls_model_name: model } },
      outputs: { usage_metadata: { input_tokens: 1_000, output_tokens: 100 } },
    };
  });
  const response = await fetch(`${url}/runs/batch`, {
    method: "POST",
    body: JSON.stringify({ post }),
  });
  expect(response.status).toBe(202);
}

async function totalCost(url: string): Promise<unknown> {
  const response = await fetch(`${url}/sessions?name=p&include_stats=true`);
  const [project] = (await response.json()) as { readonly total_cost: unknown }[];
  return project?.total_cost;
}

test("prices that are set apply to new runs, and to stored ones once costs are recomputed", async () => {
  const { url } = await runServer();
  await sendCalls(url, ["mine", "gpt-4o", "other\u001b[2J", "other\u001b[2J"]);
  expect(await totalCost(url)).toBe("0.0035");
  const set = ["set", "--model", "mine", "--input", "1", "--output", "20", "--cache-read", "0.1"];
  expect(await prices(url, ...set)).toEqual({
    code: 0,
    output: "mine  any provider  standard  always  input 1, output 20, cache_read 0.1\n",
    errors: "",
  });
  await sendCalls(url, ["mine"]);
  expect(await totalCost(url)).toBe("0.0065");
  expect(await prices(url, "recompute")).toMatchObject({
    code: 0,
    output: `5 model calls examined, 1 costs changed
no price is known for these models (number of calls):
  "other\\u001b[2J"  2
`,
  });
  expect(await totalCost(url)).toBe("0.0095");
  const again = await prices(url, "recompute", "--json");
  expect(JSON.parse(again.output)).toMatchObject({ done: true, examined: 5, changed: 0 });
});

test("an exported table is imported on another server, beside its rows or in their place", async () => {
  const [one, other] = [await runServer(), await runServer()];
  await prices(
    one.url,
    "set",
    "--model",
    "a*",
    "--provider",
    "X",
    "--tier",
    "batch",
    "--input",
    "1",
    "--from",
    "2026-07-01",
  );
  const exported = await prices(one.url, "export");
  const file = join(await folder(), "prices.json");
  await writeFile(file, exported.output);
  await prices(other.url, "set", "--model", "b", "--input", "2");
  expect((await prices(other.url, "import", file)).output).toBe("imported 1 rows\n");
  expect((await prices(other.url, "list")).output).toBe(
    "a*  x  batch  from 2026-07-01  input 1\nb  any provider  standard  always  input 2\n",
  );
  await prices(other.url, "import", file, "--replace");
  expect((await prices(other.url, "export")).output).toBe(await readFile(file, "utf8"));
  expect(JSON.parse((await prices(other.url, "list", "--json")).output)).toMatchObject({
    model: "a*",
    prices: { input: 1 },
  });
  const key = ["--model", "a*", "--provider", "x", "--tier", "batch", "--from", "2026-07-01"];
  expect(await prices(other.url, "remove", ...key)).toMatchObject({
    code: 0,
    output: 'removed the prices of "a*"\n',
  });
  expect((await prices(other.url, "list")).output).toBe("");
});

test("what can't be done is reported with what to do", async () => {
  const { url } = await runServer();
  const path = join(await folder(), "prices.json");
  const errorsOf = async (...args: readonly string[]) => {
    const { code, errors, output } = await prices(url, ...args);
    return { code, errors, output };
  };
  const expectError = (code: number, message: RegExp) => ({
    code,
    output: "",
    errors: expect.stringMatching(message) as string,
  });
  expect(await errorsOf("set", "--model", "m", "--input", "cheap")).toEqual(
    expectError(2, /--input must be a number of US dollars such as 2\.5, not "cheap"/),
  );
  expect(await errorsOf("set", "--model", "m", "--output", "1")).toEqual(
    expectError(1, /prices\[0\]\.prices\.input is missing.*\(422 from http/),
  );
  expect(await errorsOf("remove", "--model", "m")).toEqual(expectError(1, /Price not found/));
  await writeFile(path, "[]");
  expect(await errorsOf("import", path)).toEqual(
    expectError(2, /must contain an object with the list "prices"/),
  );
  await writeFile(path, "{");
  expect(await errorsOf("import", path)).toEqual(expectError(2, /prices\.json is not JSON/));
  expect(await prices("http://127.0.0.1:1", "list")).toEqual(
    expectError(1, /no response from http:\/\/127\.0\.0\.1:1: .*Start a server/),
  );
});

/** A client of a server whose recomputation has these steps. A step that is a text fails. */
function createScriptedClient(steps: readonly (Partial<RecomputeProgress> | string)[]) {
  const modes: string[] = [];
  const client = new PriceClient({ endpoint: { value: "http://unused", source: "test" } });
  client.recompute = async (mode) => {
    const step = steps[modes.length] ?? { done: true };
    modes.push(mode);
    if (typeof step === "string") {
      throw new Error(step);
    }
    const counts = { examined: 0, changed: 0, unreadable: 0, unknown_models: {} };
    return { position: 0, last: 4_000, done: false, ...counts, ...step };
  };
  return { client, modes };
}

test("a recomputation shows its progress", async () => {
  const lines: string[] = [];
  const { client, modes } = createScriptedClient([
    { position: 1_000, examined: 900 },
    { position: 2_000 },
  ]);
  const screen = { isTTY: true, write: (text: string) => lines.push(text) };
  await recompute(client, { restart: true, screen });
  expect(modes).toEqual(["restart", "continue", "continue"]);
  expect(lines).toEqual([
    "\r25%, 900 model calls examined, 0 changed\u001b[K",
    "\r50%, 0 model calls examined, 0 changed\u001b[K",
    "\r\u001b[K",
  ]);
});

test("a recomputation that fails says that the next one continues", async () => {
  const { client, modes } = createScriptedClient([{ position: 1 }, "no response"]);
  const screen = { write: () => undefined };
  await expect(recompute(client, { restart: false, screen })).rejects.toThrow(
    "no response; then run the same command again to continue where it stopped",
  );
  expect(modes).toEqual(["resume", "continue"]);
});
