import { spawn, execFileSync } from "node:child_process";
import { chownSync, closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** How to start a program. */
export interface ProgramStart {
  /** Names the process in messages, and its log. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it runs as the user `postgres` where this process is root, because PostgreSQL refuses to run as root. */
  readonly isDatabase?: boolean;
}

/** A program that the test started. */
export interface StartedProcess {
  readonly name: string;
  readonly pid: number;
  readonly hasExited: () => boolean;
  /** Sends a signal, and resolves when the process has ended. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

/** The user and group for PostgreSQL if this process is root. */
const databaseUser = ((): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const readId = (flag: string): number => Number(execFileSync("id", [flag, "postgres"]));
  return { uid: readId("-u"), gid: readId("-g") };
})();

/** Starts programs that log into one folder, and ends those that are left. */
export class Processes implements AsyncDisposable {
  readonly folder: string;
  readonly #started = new Set<StartedProcess>();
  readonly #pidFiles: string[] = [];

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  start({ name, command, args, env = {}, isDatabase = false }: ProgramStart): StartedProcess {
    const log = openSync(join(this.folder, `${name}.log`), "a");
    const child = spawn(command, args, {
      cwd: this.folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log],
      ...(isDatabase && databaseUser),
    });
    closeSync(log);
    let isRunning = true;
    const exited = new Promise<void>((resolve) => {
      const onEnd = (): void => {
        isRunning = false;
        this.#started.delete(started);
        resolve();
      };
      child.once("exit", onEnd);
      child.once("error", onEnd);
    });
    const started: StartedProcess = {
      name,
      pid: child.pid ?? 0,
      hasExited: () => !isRunning,
      end: (signal) => {
        child.kill(signal);
        return exited;
      },
    };
    this.#started.add(started);
    return started;
  }

  /** Creates a folder that PostgreSQL may write to. */
  createDatabaseFolder(name: string): string {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (databaseUser !== undefined) {
      chownSync(folder, databaseUser.uid, databaseUser.gid);
    }
    return folder;
  }

  /** Also ends the process whose id a file has in its first line, such as a database that another process started. */
  endAlso(pidFile: string): void {
    this.#pidFiles.push(pidFile);
  }

  /** Ends every process, the newest first: asks, and after ten seconds does not ask any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const started of [...this.#started].toReversed()) {
      const killing = new AbortController();
      const late = sleep(10_000, undefined, { signal: killing.signal }).then(
        () => started.end("SIGKILL"),
        () => undefined,
      );
      await started.end("SIGTERM");
      killing.abort();
      await late;
    }
    for (const file of this.#pidFiles) {
      killByFile(file);
    }
  }
}

/** Kills the process whose id a file has in its first line. Returns false if there is none. */
export function killByFile(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, "utf8").split("\n", 1)[0]);
    return pid > 1 && process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

/** Asks until the answer is not `undefined`. @throws Error after `withinMs`, which names `what`. */
export async function waitFor<Value>(
  what: string,
  withinMs: number,
  ask: () => Promise<Value | undefined> | Value | undefined,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) {
      return answer;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what}: not within ${withinMs / 1_000} s`);
    }
    await sleep(50);
  }
}
