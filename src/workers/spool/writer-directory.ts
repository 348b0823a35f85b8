import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { hostname } from "node:os";

/**
 * A writer directory is the folder of one owner below the spool's folder. Its name is its lock: it contains the time of its
 * creation and its owner. A new owner takes it over by renaming it, in which only one of two processes succeeds. So no lock
 * file has to be written, and none can be left behind.
 *
 *     <made, ms>-<host>-<pid>-<start of the process>-<random>     owned
 *     <made, ms>-free-<random>                                    given up
 */
const directoryPattern = /^(\d{13})-(?:free|([0-9a-f]{8})-(\d+)-(\d+))-[0-9a-f]{8}$/;

/** How often an owner renews its heartbeat, and how long it counts as alive after the last one. */
export const heartbeatMs = 10_000;
const silenceMs = 60_000;

/** The name of a directory of this process; of a new one where no time is given. */
export const ownDirectoryName = (createdMs: number = nextMs()): string =>
  `${formatMs(createdMs)}-${host}-${process.pid}-${startOf(process.pid) ?? 0}-${random()}`;

export const freeDirectoryName = (name: string): string =>
  `${formatMs(createdMsOf(name))}-free-${random()}`;

export const isWriterDirectory = (name: string): boolean => directoryPattern.test(name);

/** When it was made; sorting by it sorts by age. */
export const createdMsOf = (name: string): number => Number(directoryPattern.exec(name)?.[1] ?? 0);

/**
 * Whether a writer directory has no owner any more. On this machine the process table decides; the start time in the name
 * shows whether the pid was reused by another process. For another machine or container only the heartbeat is visible:
 * the folder's time of change.
 */
export function isAbandoned(path: string, name: string): boolean {
  const [, , owner, pid, start] = directoryPattern.exec(name) ?? [];
  if (owner === undefined) {
    return true;
  }
  if (owner === host) {
    const startNow = startOf(Number(pid));
    if (startNow !== undefined) {
      return startNow !== start;
    }
    if (!isAlive(Number(pid))) {
      return true;
    }
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > silenceMs;
}

let lastMs = 0;

/** The time. Two directories of one process never get the same one, so they keep their order. */
function nextMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

const formatMs = (ms: number): string => String(Math.round(ms)).padStart(13, "0");
const random = (): string => randomBytes(4).toString("hex");

/** Two containers may share a name, but not their table of processes. */
const host = createHash("sha256")
  .update(`${hostname()} ${pidNamespace()}`)
  .digest("hex")
  .slice(0, 8);

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Not Linux: there are no others.
    return "";
  }
}

/** When a process started, in ticks since the boot; `undefined` where that can't be known, or it is gone. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field, a name in parentheses, may hold blanks; the 22nd is the start.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
