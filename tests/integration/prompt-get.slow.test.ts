import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { once } from "node:events";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client, NotFoundError } from "millrace";
import type { ClientOptions, RuntimePrompt } from "millrace";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  runOwnServer,
  runServer,
  temporaryFolder,
} from "../../server/tests/support/running-server.ts";
import { runProgram } from "../support/run-program.ts";

/** A client whose warnings are kept. */
function clientOf(endpoint: string, options: ClientOptions = {}) {
  const warnings: string[] = [];
  const client = new Client({
    endpoint,
    attempts: 2,
    logger: { warn: (message) => warnings.push(message) },
    ...options,
  });
  onTestFinished(async () => void (await client.close()));
  return { client, prompts: client.prompts, warnings };
}

/** A server that responds as the listener says. */
async function serverOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const nowhere = "http://127.0.0.1:9";
const manifest = { text: "Hello" };
const fallback = { text: "offline" };

const snapshotsIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder)).map((name) => join(folder, name));

/** Stores a snapshot of the prompt `greeting`, and returns a client for which its server is down. */
async function afterTheServer(options: ClientOptions = {}) {
  const folder = join(await temporaryFolder(), "prompts");
  const server = await runOwnServer();
  const { client, prompts } = clientOf(server.url, { promptSnapshotDir: folder });
  const { commitHash = "" } = await prompts.push("greeting", { manifest });
  await prompts.get("greeting");
  await prompts.get(`greeting:${commitHash}`);
  await client.close();
  await server.close();
  const next = clientOf(server.url, { promptSnapshotDir: folder, attempts: 1, ...options });
  return { ...next, folder, commitHash, url: server.url };
}

describe("prompts.get", () => {
  test("returns what pull returns, and counts where it came from", async () => {
    const { url } = await runServer();
    const { client, prompts } = clientOf(url);
    await prompts.push("greeting", { manifest, commitTags: ["prod"] });
    const pulled = await prompts.pull("greeting:prod");
    const served = await prompts.get("greeting:prod");
    expect(served).toEqual({
      ...pulled,
      name: "greeting:prod",
      source: "server",
      fetchedAt: expect.any(Number) as number,
    });
    expect(await prompts.get("greeting:prod")).toEqual({ ...served, source: "memory" });
    expect(client.stats().prompts).toEqual({
      server: 1,
      memory: 1,
      stale: 0,
      snapshot: 0,
      fallback: 0,
    });
  });

  test("a hundred calls at once send one request", async () => {
    const paths: string[] = [];
    const endpoint = await serverOf((request, response) => {
      paths.push(request.url ?? "");
      const body = request.url?.startsWith("/info")
        ? { version: "0.10.0" }
        : { commit_hash: "ab".repeat(32), manifest };
      response.end(JSON.stringify(body));
    });
    const { prompts } = clientOf(endpoint);
    await Promise.all(Array.from({ length: 100 }, () => prompts.get("greeting")));
    expect(paths).toEqual(["/info", "/commits/-/greeting/latest"]);
  });

  test("404 is final, unless there is a fallback", async () => {
    const { url } = await runServer();
    const { client, prompts } = clientOf(url);
    await prompts.push("greeting", { manifest });
    await prompts.get("greeting");
    await prompts.delete("greeting");
    await expect(prompts.get("greeting", { ttlMs: 0 })).rejects.toBeInstanceOf(NotFoundError);
    expect(await prompts.get("greeting", { ttlMs: 0, fallback })).toMatchObject({
      source: "fallback",
      manifest: fallback,
      reason: expect.stringContaining("404") as string,
    });
    expect(client.stats().prompts.fallback).toBe(1);
  });

  const failures: Readonly<Record<string, RequestListener>> = {
    "500": (_request, response) => response.writeHead(500).end("oops"),
    HTML: (_request, response) => response.end("<!doctype html><p>Sign in"),
    "JSON without a manifest": (_request, response) => response.end('{"commit_hash":"ab"}'),
    "401": (_request, response) => response.writeHead(401).end("no key"),
    "a broken connection": (request) => request.destroy(),
  };

  test.each(Object.entries(failures))(
    "serves the fallback where the server sends %s",
    async (_name, listener) => {
      const endpoint = await serverOf(listener);
      const { prompts, warnings } = clientOf(endpoint, { attempts: 1 });
      const served = await prompts.get("greeting:prod", { fallback });
      expect(served).toMatchObject({ source: "fallback", manifest: fallback });
      expect(served.reason).toMatch(/^Failed to|^The server's response/);
      await expect(prompts.get("greeting:prod")).rejects.toThrow(/pass prompts\.get a fallback/);
      await new Promise(setImmediate);
      expect(warnings).toEqual([
        expect.stringContaining('prompts.get("greeting:prod") returned the fallback'),
      ]);
    },
  );

  test("a server that hangs delays a call by waitMs, and without a fallback times out", async () => {
    const endpoint = await serverOf(() => undefined);
    const { prompts } = clientOf(endpoint, { promptWaitMs: 50, timeoutMs: 300, attempts: 1 });
    expect(await prompts.get("greeting:prod", { fallback })).toMatchObject({ source: "fallback" });
    await expect(prompts.get("greeting:prod")).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  test("substitutes are logged once a minute, and each is counted", async () => {
    const { client, prompts, warnings } = clientOf(nowhere, { attempts: 1 });
    for (const name of ["a", "b", "c"]) {
      await prompts.get(name, { fallback });
    }
    await new Promise(setImmediate);
    expect(warnings).toHaveLength(1);
    expect(client.stats()).toMatchObject({
      prompts: { fallback: 3 },
      warnings: { promptSubstitute: 3 },
    });
  });

  test("bad arguments are refused, also while the server is up", async () => {
    const { prompts } = clientOf(nowhere);
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    await expect(prompts.get("a", { fallback: cyclic })).rejects.toThrow("serializable as JSON");
    await expect(prompts.get("a", { fallback: [] })).rejects.toThrow("must be an object");
    await expect(prompts.get("a", { ttlMs: -1 })).rejects.toThrow("client.prompts.get: ttlMs must");
    await expect(prompts.get("a", { waitMs: Number.NaN })).rejects.toThrow("waitMs must be");
    await expect(prompts.get("a/b/c")).rejects.toThrow("Invalid prompt identifier");
    await expect(prompts.get("a", { ttl: 1 } as object)).rejects.toThrow(/ttl.*ttlMs/);
  });

  test("a closed client serves no substitute", async () => {
    const { client, prompts } = clientOf(nowhere);
    await client.close();
    await expect(prompts.get("a", { fallback })).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("a program ends at once although it got prompts", async () => {
    const { url } = await runOwnServer();
    await clientOf(url).prompts.push("greeting", { manifest });
    const { code, output, durationMs } = await runProgram(`
      const client = new Client({ endpoint: ${JSON.stringify(url)}, promptTtlMs: 1 });
      await client.prompts.get("greeting");
      console.log((await client.prompts.get("greeting")).manifest.text);`);
    expect({ code, output }).toEqual({ code: 0, output: "Hello\n" });
    expect(durationMs).toBeLessThan(5_000);
  });
});

describe("snapshots", () => {
  test("serve a prompt after a restart without the server", async () => {
    const { client, prompts, commitHash } = await afterTheServer();
    expect(await prompts.get("greeting", { fallback })).toMatchObject({
      source: "snapshot",
      commitHash,
      manifest,
      reason: expect.stringMatching(/ECONNREFUSED/) as string,
    });
    expect(await prompts.get("greeting")).toMatchObject({ source: "snapshot" });
    await expect(prompts.get("other")).rejects.toThrow("no older version of the prompt other");
    expect(client.stats().prompts).toMatchObject({ snapshot: 2, fallback: 0 });
  });

  test("of a commit's hash are served without asking the server", async () => {
    const { prompts, commitHash, warnings } = await afterTheServer();
    const pinned = await prompts.get(`greeting:${commitHash}`);
    expect(pinned).toMatchObject({ source: "snapshot", commitHash });
    expect(pinned).not.toHaveProperty("reason");
    expect(await prompts.get(`greeting:${commitHash}`)).toMatchObject({ source: "memory" });
    expect(warnings).toEqual([]);
  });

  test("can be read by their owner only", async () => {
    const { folder } = await afterTheServer();
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const files = await snapshotsIn(folder);
    expect(files).toHaveLength(2);
    for (const file of files) {
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    }
  });

  const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
    edited: async (file) =>
      writeFile(file, (await readFile(file, "utf8")).replace("Hello", "Send money")),
    truncated: async (file) => truncate(file, 50),
    empty: async (file) => truncate(file, 0),
    "another JSON value": async (file) => writeFile(file, "[null]"),
    "writable by others": async (file) => chmod(file, 0o666),
  };

  test.each(Object.entries(damages))("that are %s are not used", async (_name, damage) => {
    const { prompts, folder, warnings } = await afterTheServer();
    await Promise.all((await snapshotsIn(folder)).map(damage));
    expect(await prompts.get("greeting", { fallback })).toMatchObject({ source: "fallback" });
    await new Promise(setImmediate);
    expect(warnings[0]).toMatch(/Failed to read the prompt snapshot .*(changed|writable)/);
  });

  test("are not read through a link", async () => {
    const { folder, url } = await afterTheServer();
    const linked = join(await temporaryFolder(), "linked");
    await mkdir(linked);
    for (const file of await snapshotsIn(folder)) {
      await symlink(file, file.replace(folder, linked));
    }
    const { prompts } = clientOf(url, { promptSnapshotDir: linked, attempts: 1 });
    expect(await prompts.get("greeting", { fallback })).toMatchObject({ source: "fallback" });
  });

  test("a damaged one is replaced when the server responds", async () => {
    const folder = await temporaryFolder();
    const { url } = await runServer();
    const first = clientOf(url, { promptSnapshotDir: folder });
    await first.prompts.push("greeting", { manifest });
    await first.prompts.get("greeting");
    const [file = ""] = await snapshotsIn(folder);
    await truncate(file, 10);
    const second = clientOf(url, { promptSnapshotDir: folder });
    expect(await second.prompts.get("greeting")).toMatchObject({ source: "server" });
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ prompt: { manifest } });
  });

  test("a folder that others can write to is not used", async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o777);
    const { url } = await runServer();
    const { prompts, warnings } = clientOf(url, { promptSnapshotDir: folder });
    await prompts.push("greeting", { manifest });
    expect(await prompts.get("greeting")).toMatchObject({ source: "server" });
    await new Promise(setImmediate);
    expect(warnings[0]).toMatch(/Failed to write the prompt snapshot.*writable by other users/);
    expect(await readdir(folder)).toEqual([]);
  });

  test("of another server are not served", async () => {
    const { folder } = await afterTheServer();
    const { prompts } = clientOf(nowhere, { promptSnapshotDir: folder, attempts: 1 });
    expect(await prompts.get("greeting", { fallback })).toMatchObject({ source: "fallback" });
  });

  test("are removed with the prompt", async () => {
    const folder = await temporaryFolder();
    const { url } = await runServer();
    const { prompts } = clientOf(url, { promptSnapshotDir: folder });
    await prompts.push("greeting", { manifest });
    await prompts.get("greeting");
    await prompts.delete("greeting");
    await expect(prompts.get("greeting", { ttlMs: 0 })).rejects.toBeInstanceOf(NotFoundError);
    expect(await readdir(folder)).toEqual([]);
  });

  test("are limited in number, and other files stay", async () => {
    const folder = await temporaryFolder();
    const { url } = await runServer();
    const { prompts } = clientOf(url, { promptSnapshotDir: folder, maxCachedPrompts: 2 });
    await writeFile(join(folder, "notes.txt"), "mine");
    for (const name of ["a", "b", "c"]) {
      await prompts.push(name, { manifest });
      await prompts.get(name);
    }
    const names = await readdir(folder);
    expect(names).toContain("notes.txt");
    expect(names.filter((name) => name.endsWith(".json"))).toHaveLength(2);
  });

  test("two processes that share a folder never see half of a file", async () => {
    const folder = join(await temporaryFolder(), "shared");
    const { url } = await runOwnServer();
    const { prompts } = clientOf(url);
    await prompts.push("greeting", { manifest: { text: "x".repeat(100_000) } });
    const program = `
      const options = { promptSnapshotDir: ${JSON.stringify(folder)}, attempts: 1 };
      for (let round = 0; round < 20; round++) {
        const online = new Client({ ...options, endpoint: ${JSON.stringify(url)} });
        await online.prompts.get("greeting");
        await online.close();
      }`;
    const programs = [runProgram(program), runProgram(program)];
    let isRunning = true;
    const ended = Promise.all(programs).finally(() => (isRunning = false));
    let reads = 0;
    while (isRunning) {
      for (const file of await snapshotsIn(folder).catch(() => [])) {
        const text = await readFile(file, "utf8").catch(() => undefined);
        if (file.endsWith(".json") && text !== undefined) {
          JSON.parse(text);
          reads += 1;
        }
      }
    }
    expect(await ended).toMatchObject([
      { code: 0, output: "" },
      { code: 0, output: "" },
    ]);
    expect(reads).toBeGreaterThan(0);
    expect(await readdir(folder)).toHaveLength(1);
  });
});

describe("client.sync.prompts.get", () => {
  test("serves from memory, and its calls are in the client's counts", async () => {
    const { url } = await runOwnServer();
    const { client, prompts } = clientOf(url);
    await prompts.push("greeting", { manifest });
    const first: RuntimePrompt = client.sync.prompts.get("greeting", { timeoutMs: 30_000 });
    expect(first).toMatchObject({ source: "server", manifest, name: "greeting" });
    expect(client.sync.prompts.get("greeting")).toMatchObject({ source: "memory" });
    expect(client.stats().prompts).toMatchObject({ server: 1, memory: 1 });
  });

  test("serves the fallback and the snapshot, with warnings at most once a minute", async () => {
    const { client, commitHash, warnings } = await afterTheServer();
    expect(client.sync.prompts.get("greeting")).toMatchObject({ source: "snapshot", commitHash });
    expect(client.sync.prompts.get("other", { fallback })).toMatchObject({ source: "fallback" });
    await new Promise(setImmediate);
    expect(warnings).toHaveLength(1);
    expect(client.stats()).toMatchObject({
      prompts: { snapshot: 1, fallback: 1 },
      warnings: { promptSubstitute: 2 },
    });
  });
});
