import { startServer } from "@millrace/server";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";

const script = fileURLToPath(new URL("../../examples/evaluate/main.ts", import.meta.url));
const run = promisify(execFile);

test(
  "the example evaluates two versions and prints what the second one changes",
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-evaluate-"));
    const server = await startServer({ port: 0, dataDir: join(folder, "data") });
    const client = new Client({ endpoint: server.url });
    onTestFinished(async () => {
      await client.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const env = { ...process.env, MILLRACE_ENDPOINT: server.url };
    const args = ["--import", "tsx", script, join(folder, "journals")];
    const { stdout } = await run(process.execPath, args, { env });
    expect(stdout).toMatch(
      /^titles: (\d+) rows \(0 resumed, 0 failed\), right 0\.\d\d, amongFive /,
    );
    expect(stdout).toMatch(/\ntexts: \d+ rows/);
    expect(stdout).toMatch(/\nright: 0\.\d\d -> 0\.\d\d, \d+ better, \d+ worse \(p = /);
    expect(stdout).toMatch(/\n\d+ regressions, the worst:\n {2}(right|amongFive) -1: /);
    const experiments = await client.projects.list({ referenceFree: false }).toArray();
    expect(experiments.map(({ name }) => name).toSorted()).toEqual(["texts", "titles"]);
  },
);
