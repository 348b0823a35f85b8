import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { ended, folder, start } from "./support/command.ts";

const millrace = (...args: readonly string[]) => ended(start(args));

interface Taking {
  readonly url: string;
  status: number;
  readonly taken: Set<string>;
}

interface Sent {
  readonly post: readonly { readonly id: string }[];
}

/** Answers with `status`; keeps the ids of runs that it took. */
async function server(status: number): Promise<Taking> {
  const state = { url: "", status, taken: new Set<string>() };
  const listening = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (state.status === 202 && request.url === "/runs/batch") {
        const { post } = JSON.parse(Buffer.concat(chunks).toString()) as Sent;
        post.forEach(({ id }) => state.taken.add(id));
      }
      response.writeHead(state.status).end(JSON.stringify({ detail: "no \u001b[2J such run" }));
    });
  });
  await new Promise<void>((resolve) => {
    listening.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  state.url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  return state;
}

/** Records three runs against the server, and closes; answers their ids. */
async function record(endpoint: string, spoolDir: string): Promise<readonly string[]> {
  const client = new Client({ endpoint, spoolDir, attempts: 1, logger: { warn: () => undefined } });
  const ids = Array.from({ length: 3 }, (_, i) => {
    const run = client.startRun({ name: `run ${i}` });
    run.end();
    return run.id;
  });
  await client.flush({ timeoutMs: 1_500 });
  await client.close({ timeoutMs: 0 });
  return ids;
}

const segments = (spoolDir: string): readonly string[] =>
  readdirSync(spoolDir, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".seg"),
  );

test("what a client left is listed, found whole, and sent", async () => {
  const data = await folder();
  const away = await server(503);
  const ids = await record(away.url, data);
  const listed = await millrace("spool", "inspect", data);
  expect(listed.output).toMatch(/^\S+-free-\S+\.seg {2}waiting {2}\d+ bytes {2}6 records\n$/);
  expect(await millrace("spool", "verify", data)).toMatchObject({
    code: 0,
    output: "1 files, 6 records, all whole\n",
  });
  away.status = 202;
  expect(await millrace("replay", data, "--endpoint", away.url)).toMatchObject({
    code: 0,
    output: "delivered 6, refused 0, left 0, lost 0 records\n",
  });
  expect(away.taken).toEqual(new Set(ids));
  expect(segments(data)).toEqual([]);
});

test("what the server refused is a dead letter: listed with its reason, sent once more by replay", async () => {
  const data = await folder();
  const strict = await server(422);
  const ids = await record(strict.url, data);
  const { output } = await millrace("spool", "inspect", data, "--json");
  const [file] = output.trim().split("\n");
  expect(JSON.parse(file ?? "")).toMatchObject({ state: "dead", records: 6, faults: [] });
  const plain = await millrace("spool", "inspect", data);
  expect(plain.output).toContain("422");
  expect(plain.output).not.toContain("\u001b");

  const again = await millrace("replay", data, "--endpoint", strict.url);
  expect(again).toMatchObject({
    code: 1,
    output: "delivered 0, refused 6, left 0, lost 0 records\n",
  });
  strict.status = 202;
  expect(
    await millrace("replay", data, "--endpoint", strict.url, "--no-dead-letters"),
  ).toMatchObject({ code: 0, output: "delivered 0, refused 0, left 0, lost 0 records\n" });
  expect(await millrace("replay", data, "--endpoint", strict.url)).toMatchObject({
    code: 0,
    output: "delivered 6, refused 0, left 0, lost 0 records\n",
  });
  expect(strict.taken).toEqual(new Set(ids));
  expect(segments(data)).toEqual([]);
});

test("what is not sent in time stays, is said, and fails", async () => {
  const data = await folder();
  const away = await server(503);
  await record(away.url, data);
  const { code, output } = await millrace("replay", data, "--endpoint", away.url, "--limit", "1");
  expect({ code, output }).toEqual({
    code: 1,
    output: "delivered 0, refused 0, left 6, lost 0 records\n",
  });
});

test("damage is found and said with its place", async () => {
  const data = await folder();
  await record("http://127.0.0.1:9", data);
  const [name = ""] = segments(data);
  const path = join(data, name);
  writeFileSync(path, Buffer.from(readFileSync(path)).fill(0, 100, 110));
  const { code, output, errors } = await millrace("spool", "verify", data);
  expect(code).toBe(1);
  expect(output).toMatch(/^\S+\.seg: damaged at byte 0, \d+ bytes\n$/);
  expect(errors).toBe(
    'error: 1 of 1 files hold something that can\'t be read: "millrace replay" sends the rest of them\n',
  );
});

test("a folder that is not there, and a limit that is none, are said", async () => {
  const missing = join(await folder(), "missing");
  expect(await millrace("replay", missing)).toMatchObject({
    code: 1,
    errors: expect.stringContaining("ENOENT") as unknown,
  });
  expect(await millrace("spool", "verify", missing)).toMatchObject({ code: 1 });
  expect(await millrace("replay", missing, "--limit", "soon")).toMatchObject({ code: 2 });
});
