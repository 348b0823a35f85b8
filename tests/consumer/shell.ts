import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** The Node for commands: that of the tests, unless `npm run test:packages` chooses another one. */
const node = process.env["MILLRACE_TEST_NODE"] ?? process.execPath;

/** The result of a command. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in its output. @throws Error the command ended without a match. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal to the command only, not to its child processes, as a service manager does. */
  kill(signal: NodeJS.Signals): void;
}

/** A shell in its own folder, like that of a user who tries the packages. */
export interface Shell extends AsyncDisposable {
  readonly folder: string;
  run(command: string): Promise<Ended>;
  start(command: string): Running;
}

const limitMs = 120_000;

/** @param env - variables to add to the environment, from which those of npm and Millrace are removed. */
export async function openShell(env: NodeJS.ProcessEnv = {}): Promise<Shell> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-shell-"));
  const running = new Set<ChildProcess>();
  const start = (command: string): Running => {
    // A separate process group, so that all child processes end with the test.
    const child = spawn("bash", ["-c", command], {
      cwd: folder,
      env: { ...cleanEnvironment(), ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    return follow(child, command);
  };
  return {
    folder,
    start,
    run: (command) => start(command).ended,
    async [Symbol.asyncDispose]() {
      running.forEach(killGroup);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function follow(child: ChildProcess, command: string): Running {
  const output = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
      output[name] += chunk;
      listeners.forEach((listener) => listener());
    });
  }
  const timer = setTimeout(() => killGroup(child), limitMs);
  const ended = once(child, "close").then((args): Ended => {
    clearTimeout(timer);
    const [code, signal] = args as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout: output.stdout, stderr: withoutSettings(output.stderr) };
  });
  const waitFor = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output.stdout + output.stderr);
        if (match !== null) {
          resolve(match);
        }
      };
      listeners.add(look);
      look();
      void ended.then((end) => reject(new Error(`${command} ended: ${JSON.stringify(end)}`)));
    });
  return { ended, waitFor, kill: (signal) => void child.kill(signal) };
}

/** Removes npm's warnings about the settings of whoever runs the tests. */
const withoutSettings = (stderr: string): string =>
  stderr.replaceAll(/^npm warn Unknown .* config .*\n/gm, "");

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid ?? 0), "SIGKILL");
  } catch (error) {
    // The process group has already ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") {
      throw error;
    }
  }
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(npm_|NODE_(?!EXTRA_CA)|VITEST|MILLRACE_|LANGSMITH_|LANGCHAIN_|INIT_CWD)/i;
  const ownVariables = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(ownVariables),
    PATH: [dirname(node), process.env["PATH"]].join(delimiter),
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    npm_config_update_notifier: "false",
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
}
