import { startServer } from "@millrace/server";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { paragraphs } from "../../examples/pipeline/paragraphs.ts";

const script = fileURLToPath(new URL("../../examples/pipeline/main.ts", import.meta.url));
const run = promisify(execFile);

test(
  "the example brings each paragraph once, however often it is run",
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-pipeline-"));
    const server = await startServer({ port: 0, dataDir: join(folder, "data") });
    const client = new Client({ endpoint: server.url });
    onTestFinished(async () => {
      await client.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const upload = async (checkpoint: string): Promise<string> => {
      const args = ["--import", "tsx", script, "licences", join(folder, checkpoint)];
      const env = { ...process.env, MILLRACE_ENDPOINT: server.url };
      return (await run(process.execPath, args, { env })).stdout;
    };
    const many = [...paragraphs()].length;
    expect(many).toBeGreaterThan(10_000);
    expect(await upload("a.json")).toContain(
      `${many} paragraphs: ${many} created, 0 skipped, 0 rej`,
    );
    expect(await upload("a.json")).toContain(`${many} paragraphs: 0 created, ${many} skipped`);
    expect(await upload("b.json")).toContain(`${many} paragraphs: 0 created, ${many} skipped`);
    expect(await client.examples.count({ datasetName: "licences" })).toBe(many);
    const [first] = await client.examples
      .list({ datasetName: "licences", splits: ["osi-approved"], limit: 1 })
      .toArray();
    expect(first).toMatchObject({
      inputs: { text: expect.any(String) as unknown },
      outputs: { licence: expect.any(String) as unknown },
      splits: ["osi-approved"],
    });
  },
);
