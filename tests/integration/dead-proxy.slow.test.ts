import { Client } from "millrace";
import type { ClientOptions } from "millrace";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { findFreePort } from "../support/free-port.ts";

afterEach(() => vi.unstubAllEnvs());

/** A client of a server on this machine, and what it logs. */
function createClient(options: ClientOptions): { client: Client; lines: string[] } {
  const lines: string[] = [];
  const client = new Client({
    endpoint: "http://127.0.0.1:1984",
    attempts: 1,
    logger: { warn: (message) => lines.push(message) },
    ...options,
  });
  onTestFinished(async () => {
    await client.close({ timeoutMs: 0 });
  });
  return { client, lines };
}

test.each([
  ["the option httpProxy", {}],
  ["HTTP_PROXY", {}],
  ["HTTP_PROXY", { workers: 0 }],
])(
  "a proxy of %s that can't be reached is named by the log and by errors of calls (%j)",
  async (source, options) => {
    const port = await findFreePort();
    const httpProxy = `http://me:secret@127.0.0.1:${port}`;
    vi.stubEnv("http_proxy", "");
    vi.stubEnv("HTTP_PROXY", source === "HTTP_PROXY" ? httpProxy : "");
    vi.stubEnv("NO_PROXY", "");
    vi.stubEnv("no_proxy", "");
    const { client, lines } = createClient(
      source === "HTTP_PROXY" ? options : { ...options, httpProxy },
    );
    client.startRun({ name: "kept" }).end();
    await client.flush({ timeoutMs: 3_000 });
    const problem = `the proxy http://127.0.0.1:${port} (${source}) can't be reached: connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(lines[0]).toContain(
      `Failed to send runs: ${problem}. Check ${source}, or list the server's host in NO_PROXY (or the option noProxy)`,
    );
    await expect(client.projects.has({ projectName: "p" })).rejects.toMatchObject({
      code: "NETWORK",
      message: expect.stringContaining(problem) as string,
    });
    expect(lines.join("\n")).not.toMatch(/secret|npx millrace serve/);
  },
);
