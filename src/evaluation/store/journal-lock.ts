import { readFileSync, renameSync, rmSync, writeFileSync, linkSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ValidationError } from "../../main/index.ts";

/** The process that holds a lock. */
interface LockOwner {
  readonly pid: number;
  readonly host: string;
  /** When the process started, in clock ticks since this machine started; absent if it is not known. */
  readonly processStart?: string | undefined;
  /** A time in ISO 8601 format. */
  readonly since: string;
}

/**
 * Reserves a folder of journals for this process. The lock of a process that has ended is taken over.
 *
 * @returns a function that releases the lock.
 * @throws {@link ValidationError} if another process, or another evaluation of this process, has the lock.
 */
export function lockFolder(folder: string, experiment: string): () => void {
  const path = join(folder, "lock");
  const owner: LockOwner = {
    pid: process.pid,
    host: hostname(),
    processStart: readProcessStart(process.pid),
    since: new Date().toISOString(),
  };
  const content = JSON.stringify(owner);
  // Each attempt either gets the lock, finds its owner, or removes a lock whose owner has ended.
  for (let attempt = 0; attempt < 10; attempt += 1) {
    try {
      writeFileSync(path, content, { flag: "wx", mode: 0o600 });
      return () => {
        if (readLock(path) === content) {
          rmSync(path, { force: true });
        }
      };
    } catch (error) {
      if (!isErrorWithCode(error, "EEXIST")) {
        throw error;
      }
    }
    const stored = readLock(path);
    const holder = stored === undefined ? undefined : parseOwner(stored);
    if (holder !== undefined && isRunning(holder)) {
      throw new ValidationError(
        `The experiment ${JSON.stringify(experiment)} is being evaluated by process ${holder.pid} on ${holder.host}, since ${holder.since}. Wait until it has finished, stop it, or pass another name as \`experiment\`. If that process does not evaluate anything, remove ${path}`,
      );
    }
    removeStaleLock(path, stored);
  }
  throw new ValidationError(
    `The lock ${path} can't be taken: several processes compete for it. Run the evaluation again`,
  );
}

/**
 * Removes the lock of a process that has ended. If another process has replaced the lock since it was read, the new
 * lock is restored.
 */
function removeStaleLock(path: string, stored: string | undefined): void {
  const movedPath = `${path}.${process.pid}`;
  try {
    renameSync(path, movedPath);
    if (readLock(movedPath) !== stored) {
      linkSync(movedPath, path);
    }
  } catch (error) {
    // Another process removed the file, or created another one, at the same time. The next attempt reads the lock
    // again.
    if (!isErrorWithCode(error, "ENOENT") && !isErrorWithCode(error, "EEXIST")) {
      throw error;
    }
  }
  rmSync(movedPath, { force: true });
}

function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Parses the content of a lock. Returns `undefined` if the file is incomplete. */
function parseOwner(text: string): LockOwner | undefined {
  try {
    const owner = JSON.parse(text) as LockOwner;
    return typeof owner.pid === "number" ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the process is still running. This is unknown for a process on another machine, so its lock is kept. */
function isRunning({ pid, host, processStart }: LockOwner): boolean {
  if (host !== hostname()) {
    return true;
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    return isErrorWithCode(error, "EPERM");
  }
  // The process id may have been given to a later process.
  return processStart === undefined || readProcessStart(pid) === processStart;
}

/** Returns when a process started, in clock ticks since the system started; `undefined` on systems other than Linux. */
function readProcessStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the process name in parentheses, can contain spaces, so the fields after it are split. The
    // start time is field 22.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

const isErrorWithCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
