// Fills the small disk that is mounted at a folder, and prints as JSON what a server on it did.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, rmSync, statSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "millrace";
import { openSqliteStore } from "../../dist/store/sqlite-store.js";

const [disk, earlyFillerBytes] = process.argv.slice(2);
const dataDir = join(disk, "data");
const filler = join(disk, "filler");
const program = join(import.meta.dirname, "serve-and-write.mjs");
const facts = {};

let url = "";
let server;
let log = "";
async function start() {
  server = spawn(process.execPath, [program, dataDir], { stdio: ["ignore", "pipe", "pipe"] });
  server.stderr.on("data", (text) => (log += text));
  const [said] = await Promise.race([once(server.stdout, "data"), once(server, "exit")]);
  url = String(said).trim();
  if (!url.startsWith("http")) {
    throw new Error(`the server did not start: ${url} ${log}`);
  }
}
async function kill() {
  server.kill("SIGKILL");
  await once(server, "exit");
}

async function call(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  const retryAfter = response.headers.get("retry-after");
  return { status: response.status, retryAfter, text, json: () => JSON.parse(text) };
}

/** Ids of acknowledged runs, by project. */
const acknowledged = new Map();
async function send(project, micros = "20261121T101112345678Z") {
  const post = Array.from({ length: 20 }, () => {
    const id = randomUUID();
    const inputs = { text: randomUUID().repeat(270) };
    const place = { id, trace_id: id, dotted_order: micros + id, session_name: project };
    return { ...place, name: "run", run_type: "chain", inputs };
  });
  const answer = await call("POST", "/runs/batch", { post });
  if (answer.status === 202) {
    const ids = acknowledged.get(project) ?? [];
    acknowledged.set(project, [...ids, ...post.map(({ id }) => id)]);
  }
  return answer;
}

/** Counts acknowledged runs of existing projects that can't be read back as they were sent. */
async function countMissing() {
  let missing = 0;
  for (const { id, name } of (await call("GET", "/sessions")).json()) {
    const found = new Set();
    for (let cursor; cursor !== null;) {
      const query = { session: [id], limit: 100, ...(cursor && { cursor }) };
      const page = (await call("POST", "/runs/query", query)).json();
      page.runs
        .filter((run) => run.inputs?.text?.length === 9_720)
        .forEach((run) => found.add(run.id));
      cursor = page.cursors?.next ?? null;
    }
    missing += (acknowledged.get(name) ?? []).filter((one) => !found.has(one)).length;
  }
  return missing;
}

/** Uses all space that is left. */
function fillUp() {
  for (const bytes of [1_048_576, 65_536, 4_096]) {
    for (let isRoom = true; isRoom;) {
      try {
        writeFileSync(filler, Buffer.alloc(bytes), { flag: "a" });
      } catch {
        isRoom = false;
      }
    }
  }
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

/** Sends until the batch is accepted. */
async function sendAgain(project) {
  const began = performance.now();
  while (performance.now() - began < 30_000) {
    if ((await send(project)).status === 202) {
      return performance.now() - began;
    }
    await setTimeout(200);
  }
  return undefined;
}

writeFileSync(filler, Buffer.alloc(Number(earlyFillerBytes)));
await start();
const dataset = (await call("POST", "/datasets", { name: "kept for long" })).json();
for (let count = 0; count < 20; count += 1) {
  const inputs = { text: randomUUID().repeat(500) };
  await call("POST", "/examples", { dataset_id: dataset.id, inputs });
}
const projects = ["one", "two", "three", "four"];
let refused;
for (let turn = 0; refused === undefined; turn += 1) {
  const answer = await send(projects[turn % 4]);
  refused = answer.status === 202 ? undefined : answer;
}
facts.refused = { status: refused.status, retryAfter: refused.retryAfter, ...refused.json() };
facts.info = (await call("GET", "/info")).json().read_only;
facts.acknowledged = [...acknowledged.values()].flat().length;

// Runs that a client records now wait in the client.
const client = new Client({ endpoint: url, logger: { warn: () => undefined } });
for (let count = 0; count < 50; count += 1) {
  client.startRun({ name: `waiting ${count}`, projectName: "client" }).end({ count });
}
const first = await client.flush({ timeoutMs: 1_500 });
facts.client = { lost: first.lost, isPending: first.pending > 0 };

// Another program uses the rest of the disk; the server is killed, and started without any free space.
facts.freeBytes = [fillUp()];
const port = new URL(url).port;
await kill();
facts.freeBytes.push(fillUp());
process.env.MILLRACE_TEST_PORT = port;
await start();
facts.writeAfterStart = (await send("one")).status;
facts.create = (await call("POST", "/datasets", { name: "new" })).status;
facts.missingAfterKill = await countMissing();
facts.search = (await call("POST", "/runs/query", { query: "no such text", limit: 1 })).status;

// Deletions of every kind succeed, and free space.
facts.deletions = [(await call("DELETE", `/datasets/${dataset.id}`)).status];
const sessions = (await call("GET", "/sessions")).json();
for (const name of ["one", "two"]) {
  const { id } = sessions.find((one) => one.name === name);
  facts.deletions.push((await call("DELETE", `/sessions/${id}`)).status);
  acknowledged.delete(name);
}
facts.writtenAgainMs = await sendAgain("five");
facts.clientAfter = await client.flush({ timeoutMs: 40_000 });
await client.close();

// The same with a full disk, by retention.
fillUp();
await kill();
facts.freeBytes.push(fillUp());
const store = await openSqliteStore(dataDir);
const projectId = sessions.find((one) => one.name === "three").id;
await store.write.retention.set(store.defaultTenantId, { projectId, days: 1 });
facts.swept = 0;
for (let from = null, isFirst = true; isFirst || from !== null; isFirst = false) {
  const step = await store.write.retention.sweep(Date.now() * 1_000 + 1e15, from);
  facts.swept += step.deleted;
  from = step.next;
}
await store.close();
facts.sweepable = acknowledged.get("three").length;
acknowledged.delete("three");

// Start on a full disk after a proper close, which removes the shared-memory index of the log. Then free space:
// everything is accepted again, and the reserve is created again.
facts.freeBytes.push(fillUp());
await start();
rmSync(filler);
facts.writtenWithRoomMs = await sendAgain("six");
facts.missing = await countMissing();
// Deletions of the full disk may have used up the whole reserve.
const reserve = () =>
  statSync(join(dataDir, "millrace.reserve"), { throwIfNoEntry: false })?.size ?? 0;
for (let count = 0; count < 50 && reserve() < 4_194_304; count += 1) {
  await setTimeout(100);
}
facts.reserveBytes = reserve();
facts.files = readdirSync(dataDir).toSorted();
// What is said about the folder itself. A thread that counts metrics says so, too, if it had to write meanwhile.
facts.log = log.split("\n").filter((line) => /\/data: .*disk/.test(line));
await kill();
process.stdout.write(`${JSON.stringify(facts)}\n`);
