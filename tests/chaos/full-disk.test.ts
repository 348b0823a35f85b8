import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import { expect, onTestFinished, test, vi } from "vitest";

const program = join(import.meta.dirname, "..", "support", "local-server-program.mjs");
const runs = 300;

/** Limits the file size of a process with the Linux tool `prlimit`, which has the same effect as a full disk. */
const limitFiles = (pid: number, bytes: number | "unlimited"): void => {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:unlimited`]);
};

test(
  "a local server with a full disk reports it, continues to respond, and accepts everything when there is space",
  { timeout: 90_000 },
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-full-"));
    onTestFinished(() => rmSync(dataDir, { recursive: true }));
    const server = spawn(process.execPath, [program, dataDir]);
    const ended = once(server, "exit");
    onTestFinished(async () => {
      server.kill("SIGKILL");
      await ended;
    });
    const [output] = (await once(server.stdout, "data")) as [Buffer];
    const url = output.toString().trim();
    limitFiles(server.pid ?? 0, 2_000_000);

    const client = new Client({
      endpoint: url,
      tapeBytes: 262_144,
      logger: { warn: () => undefined },
    });
    onTestFinished(async () => void (await client.close({ timeoutMs: 0 })));
    for (let i = 0; i < runs; i++) {
      client.startRun({ name: `run ${i}`, inputs: { text: `${i} `.repeat(6_000) } }).end({ i });
    }
    const refused = (): Promise<number> =>
      fetch(`${url}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          id: crypto.randomUUID(),
          name: "large",
          run_type: "chain",
          inputs: { text: crypto.randomUUID().repeat(20_000) },
        }),
      }).then(({ status }) => status);
    await vi.waitFor(async () => expect(await refused()).toBe(503), { timeout: 40_000 });
    expect((await fetch(`${url}/info`)).status).toBe(200);
    expect(client.stats().dropped).toBe(0);

    limitFiles(server.pid ?? 0, "unlimited");
    expect(await client.flush({ timeoutMs: 40_000 })).toMatchObject({ lost: 0, pending: 0 });
    expect(client.stats()).toMatchObject({ accepted: runs * 2, delivered: runs * 2 });
  },
);
