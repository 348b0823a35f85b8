import { statSync } from "node:fs";
import { join } from "node:path";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { runOwnServer, temporaryFolder } from "../../server/tests/support/running-server.ts";

const turns = 200;

/** Some words, in an order of their own for each turn. */
const words = "the mill wheel turns while water runs past and nobody waits for it to stop".split(
  " ",
);
const messages = Array.from({ length: 2 * turns }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: Array.from(
    { length: 90 },
    (_word, place) => words[(index * 7 + place * place) % 15],
  ).join(" "),
}));
const inputsOf = (turn: number) => ({ model: "m", messages: messages.slice(0, 2 * turn + 1) });

/** Records a conversation, and returns by how many bytes the database grew. Fails if a turn reads otherwise. */
async function measureConversation(contentDeduplication: "once" | "inline"): Promise<number> {
  const dataDir = await temporaryFolder();
  const file = join(dataDir, "millrace.db");
  await (await runOwnServer({ dataDir })).close();
  const bytesBefore = statSync(file).size;
  const server = await runOwnServer({ dataDir });
  const client = new Client({
    endpoint: server.url,
    contentDeduplication,
    firstDelayMs: 0,
    aggregationDelayMs: 0,
    workers: 1,
  });
  onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
  const root = client.startRun({ name: "root" });
  const ids: string[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const run = client.startRun({ parent: root, name: `turn ${turn}`, inputs: inputsOf(turn) });
    run.end({ message: messages[2 * turn + 1] });
    ids.push(run.id);
    // Content is only referred to once the server has acknowledged it. Inline, several turns may share a request.
    if (contentDeduplication === "once" || turn % 20 === 0) {
      await client.flush();
    }
  }
  root.end();
  await client.flush();
  expect(client.stats()).toMatchObject({ pending: 0, rejected: 0, dropped: 0 });
  for (const turn of [0, 1, 99, turns - 1]) {
    const { inputs, outputs } = await client.runs.read(ids[turn] ?? "");
    expect(inputs).toEqual(inputsOf(turn));
    expect(outputs).toEqual({ message: messages[2 * turn + 1] });
  }
  await client.close();
  await server.close();
  return statSync(file).size - bytesBefore;
}

test("a conversation of 200 turns takes at most a tenth of the bytes on disk", async () => {
  const [shared, whole] = [await measureConversation("once"), await measureConversation("inline")];
  expect(whole).toBeGreaterThan(10_000_000);
  expect(shared / whole).toBeLessThan(0.1);
}, 240_000);
