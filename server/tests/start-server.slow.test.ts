import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ServerError, startServer } from "@millrace/server";
import { OptionError } from "millrace/model";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../src/storage/sqlite/connection.ts";
import { call, runOwnServer, runServer, temporaryFolder } from "./support/running-server.ts";
import { wireRun } from "./support/wire-runs.ts";
import { matching } from "./support/matchers.ts";

test.each([
  [{ port: -1 }, "port must be a whole number from 0 to 65535, not -1"],
  [{ port: 1.5 }, "port must be a whole number from 0 to 65535, not 1.5"],
  [{ port: 65_536 }, "port must be a whole number from 0 to 65535, not 65536"],
  [{ host: "a b" }, 'host must be a host name or an address, not "a b"'],
  [{ dataDir: "" }, 'dataDir must be the path of a folder, not ""'],
  [
    { apiKeys: [""] },
    "apiKeys must be a list of non-empty texts without spaces or control characters",
  ],
  [
    { host: "0.0.0.0" },
    "host 0.0.0.0 is reachable from other machines: set apiKeys, or listen on 127.0.0.1",
  ],
  [{ host: "::" }, "host :: is reachable from other machines: set apiKeys, or listen on 127.0.0.1"],
  [
    { host: "box.example" },
    "host box.example is reachable from other machines: set apiKeys, or listen on 127.0.0.1",
  ],
  [
    { host: "127.0.0.1.example" },
    "host 127.0.0.1.example is reachable from other machines: set apiKeys, or listen on 127.0.0.1",
  ],
])("the options %j are rejected with an error that names them", async (options, message) => {
  const refused = startServer({ port: 0, dataDir: ":memory:", ...options });
  await expect(refused).rejects.toThrow(OptionError);
  await expect(refused).rejects.toThrow(message);
});

test("with a key the server listens on all addresses", async () => {
  const server = await runServer({ host: "0.0.0.0", apiKeys: ["k"] });
  expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
  expect((await call(server, "GET /info")).status).toBe(200);
});

test("IPv6 loopback gives a URL that works", async () => {
  const server = await runServer({ host: "::1" });
  expect(server.url).toBe(`http://[::1]:${server.port}`);
  expect((await call(server, "GET /info")).status).toBe(200);
});

test("the error for a port in use names it", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const starting = startServer({ port, dataDir: await temporaryFolder() });
  await expect(starting).rejects.toThrow(ServerError);
  await expect(starting).rejects.toMatchObject({
    code: "LISTEN",
    message: `Failed to listen on 127.0.0.1:${port}: port ${port} is in use; choose another port, or 0 for any free one`,
  });
});

test("the error for an address of another machine names it", async () => {
  const starting = startServer({
    port: 0,
    host: "203.0.113.1",
    apiKeys: ["k"],
    dataDir: ":memory:",
  });
  await expect(starting).rejects.toMatchObject({
    code: "LISTEN",
    message: matching(/^Failed to listen on 203\.0\.113\.1:0: .*EADDRNOTAVAIL/),
  });
});

test("the error for a data folder that is a file, or below one, names it", async () => {
  const file = join(await temporaryFolder(), "file");
  await writeFile(file, "");
  await expect(startServer({ port: 0, dataDir: file })).rejects.toMatchObject({
    code: "DATA_DIR",
    message: `Failed to use ${file} as data folder: it is not a folder`,
  });
  await expect(startServer({ port: 0, dataDir: join(file, "below") })).rejects.toMatchObject({
    code: "DATA_DIR",
  });
});

test("the error for an invalid database names it", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "millrace.db"), "this is no database ".repeat(500));
  await expect(startServer({ port: 0, dataDir: folder })).rejects.toMatchObject({
    code: "DATA_DIR",
    message: matching(/^Failed to open .*millrace\.db: .*not a database/),
  });
});

test("missing folders are created", async () => {
  const dataDir = join(await temporaryFolder(), "a", "b");
  const server = await runServer({ dataDir });
  expect((await call(server, "POST /runs", { body: wireRun() })).status).toBe(202);
});

test("the error for a folder in use names it, in the same process and in another", async () => {
  const folder = await temporaryFolder();
  const server = await startServer({ port: 0, dataDir: folder });
  const expected = {
    code: "DATA_DIR_IN_USE",
    message: `${folder} is in use by another millrace server: stop it, or choose another data folder`,
  };
  await expect(startServer({ port: 0, dataDir: folder })).rejects.toMatchObject(expected);
  await server.close();
  const { child } = await spawnServer(folder);
  await expect(startServer({ port: 0, dataDir: folder })).rejects.toMatchObject(expected);
  child.kill("SIGKILL");
  await once(child, "exit");
  await (await startServer({ port: 0, dataDir: folder })).close();
});

test("close may be called twice, and frees the port", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  await Promise.all([server.close(), server.close()]);
  await server.close();
  await expect(fetch(`${server.url}/info`)).rejects.toThrow("fetch failed");
  const next = await runServer({ port: server.port });
  expect((await call(next, "GET /info")).status).toBe(200);
});

test("a request that is running when the server closes gets its response, and what it sent is stored", async () => {
  const folder = await temporaryFolder();
  const server = await startServer({ port: 0, dataDir: folder });
  const runs = Array.from({ length: 8 }, () => wireRun({ inputs: { text: "x".repeat(200_000) } }));
  const sent = runs.map((body) => call(server, "POST /runs", { body }));
  await Promise.race(sent);
  await server.close();
  const answered = await Promise.allSettled(sent);
  const again = await runServer({ dataDir: folder });
  const kept = await Promise.all(
    runs.map(async ({ id }) => (await call(again, `GET /runs/${id}`)).status === 200),
  );
  const acknowledged = answered.map(
    (response) => response.status === "fulfilled" && response.value.status === 202,
  );
  expect(acknowledged).toContain(true);
  expect(acknowledged.filter((isTold, index) => isTold && kept[index] !== true)).toEqual([]);
});

test("the thread that started the server may block while it waits for a response", async () => {
  const server = await runOwnServer();
  const script = `fetch(${JSON.stringify(`${server.url}/info`)}).then((r) => console.log(r.status))`;
  // Synchronous: no code runs on this thread until the child process has its response.
  expect(execFileSync(process.execPath, ["-e", script], { timeout: 10_000 }).toString()).toBe(
    "200\n",
  );
});

test("after close nothing keeps the process alive, and no thread runs the program's preloads", async () => {
  const folder = await temporaryFolder();
  const preload = join(folder, "preload.cjs");
  await writeFile(
    preload,
    'process.stdout.write(require("node:worker_threads").isMainThread ? "main\\n" : "thread\\n");',
  );
  const script = fileURLToPath(new URL("support/start-and-close.mjs", import.meta.url));
  const output = execFileSync(process.execPath, [script, join(folder, "data")], {
    timeout: 15_000,
    env: { ...process.env, NODE_OPTIONS: `--require ${preload}` },
  });
  expect(output.toString()).toBe("main\nclosed\n");
});

test("acknowledged data is there after kill -9 during writes", async () => {
  const folder = await temporaryFolder();
  const { child, url } = await spawnServer(folder);
  const acknowledged: string[] = [];
  let isOn = true;
  const writers = Array.from({ length: 4 }, async () => {
    while (isOn) {
      const runs = Array.from({ length: 20 }, () =>
        wireRun({ inputs: { text: "x".repeat(5_000) } }),
      );
      try {
        // One request after the other, until the server is killed.
        const { status } = await call({ url }, "POST /runs/batch", { body: { post: runs } });
        if (status === 202) {
          acknowledged.push(...runs.map(({ id }) => id));
        }
      } catch {
        isOn = false; // The server was killed, as intended.
      }
    }
  });
  await expect.poll(() => acknowledged.length, { timeout: 10_000 }).toBeGreaterThan(400);
  child.kill("SIGKILL");
  await Promise.all(writers);
  const server = await startServer({ port: 0, dataDir: folder });
  const { json } = await call(server, "POST /runs/query", {
    body: { limit: 1, id: acknowledged.slice(0, 1) },
  });
  expect(json["runs"]).toHaveLength(1);
  const stats = await call(server, "POST /runs/stats", {
    body: { id: acknowledged.slice(0, 10_000) },
  });
  expect(stats.json["run_count"]).toBe(Math.min(acknowledged.length, 10_000));
  await server.close();
  const db = openDatabase(join(folder, "millrace.db"));
  expect(db.prepare("PRAGMA integrity_check").raw().all()).toEqual([["ok"]]);
  const orphans = db.prepare(
    "SELECT count(*) FROM runs r WHERE NOT EXISTS (SELECT 1 FROM payloads p WHERE p.trace_id = r.trace_id AND p.id = r.id)",
  );
  expect(orphans.raw().all()).toEqual([[0]]);
  db.close();
});

async function spawnServer(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const script = fileURLToPath(new URL("support/serve-and-write.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, folder], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: line.toString().trim() };
}
