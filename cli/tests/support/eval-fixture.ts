import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Client } from "millrace";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { script } from "./command.ts";

const sdkFolder = fileURLToPath(new URL("../../..", import.meta.url));

/** A run of `millrace eval` in a folder. */
export interface EvalProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Everything that was printed so far. */
  readonly text: () => string;
  /** Resolves when the text has been printed. */
  readonly printed: (text: string | RegExp) => Promise<void>;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

/** A server, and a folder for each test in which `millrace` can be imported. */
export function useEvalFixture() {
  let server: RunningServer | undefined;
  let client: Client | undefined;
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-eval-"));
  beforeAll(async () => {
    server = await startServer({ port: 0, dataDir });
    client = new Client({ endpoint: server.url });
  });
  afterAll(async () => {
    await client?.close();
    await server?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    get client(): Client {
      if (client === undefined) {
        throw new Error("The server has not started");
      }
      return client;
    },
    /** Creates a folder with files. */
    createFolder(files: Readonly<Record<string, string>>) {
      const path = mkdtempSync(join(tmpdir(), "millrace-eval-"));
      onTestFinished(() => rmSync(path, { recursive: true, force: true }));
      mkdirSync(join(path, "node_modules"));
      symlinkSync(sdkFolder, join(path, "node_modules/millrace"));
      const write = (name: string, text: string): void => {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), text);
      };
      write("package.json", '{"type":"module"}');
      Object.entries(files).forEach(([name, text]) => write(name, text));
      const start = (command: readonly string[], env: NodeJS.ProcessEnv = {}): EvalProcess =>
        follow(
          spawn(process.execPath, command, {
            cwd: path,
            env: { ...process.env, MILLRACE_ENDPOINT: server?.url, CI: "", ...env },
            stdio: ["ignore", "pipe", "pipe"],
          }),
        );
      return {
        path: (name: string) => join(path, name),
        write,
        start,
        startEval: (...args: readonly string[]) => start([script, "eval", ...args]),
        runEval: async (...args: readonly string[]) => start([script, "eval", ...args]).ended,
      };
    },
  };
}

function follow(child: ChildProcessByStdio<null, Readable, Readable>): EvalProcess {
  let output = "";
  const wakes = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      wakes.forEach((wake) => wake());
    });
  }
  onTestFinished(() => void child.kill("SIGKILL"));
  const closed = once(child, "close") as Promise<[number | null]>;
  return {
    child,
    text: () => output,
    printed: async (text) => {
      const isPrinted = (): boolean =>
        typeof text === "string" ? output.includes(text) : text.test(output);
      await new Promise<void>((resolve, reject) => {
        const check = (): void => (isPrinted() ? resolve() : undefined);
        wakes.add(check);
        void closed.then(() =>
          isPrinted() ? resolve() : reject(new Error(`It ended without ${text}: ${output}`)),
        );
        check();
      });
    },
    ended: closed.then(([code]) => ({ code, output })),
  };
}

/** A remote API on loopback that counts its requests. */
export async function startCountingApi() {
  const state = { requests: 0 };
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      state.requests += 1;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ answer: state.requests }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return state.requests;
    },
  };
}
