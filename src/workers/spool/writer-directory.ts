import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { hostname } from "node:os";

/**
 * A writer directory is a folder of one owner inside the spool's folder. Its name serves as a lock:
 * it contains the owner and the time when the directory was created. A new owner takes it over by
 * renaming it, which succeeds for only one of two processes. So no lock file has to be written, and
 * none can be left behind.
 *
 *     <created, ms>-<host>-<pid>-<start of the process>-<random>     owned
 *     <created, ms>-free-<random>                                    released
 */
const directoryPattern = /^(\d{13})-(?:free|([0-9a-f]{8})-(\d+)-(\d+))-[0-9a-f]{8}$/;

/** Milliseconds between two heartbeats of an owner. */
export const heartbeatMs = 10_000;
/** An owner without a heartbeat for this time is considered gone. */
const ownerTimeoutMs = 60_000;

/** Returns a name for a directory of this process that was created at `createdMs`, by default now. */
export const createOwnDirectoryName = (createdMs: number = createUniqueMs()): string =>
  `${formatMs(createdMs)}-${hostId}-${process.pid}-${readStartTicks(process.pid) ?? 0}-${createRandomHex()}`;

/** Returns the name of a directory after its release. */
export const toFreeDirectoryName = (name: string): string =>
  `${formatMs(parseCreatedMs(name))}-free-${createRandomHex()}`;

/** Whether a folder's name is that of a writer directory. */
export const isWriterDirectory = (name: string): boolean => directoryPattern.test(name);

/**
 * Returns the creation time from a directory's name, in milliseconds since the Unix epoch. Sorting by it sorts by age.
 */
export const parseCreatedMs = (name: string): number =>
  Number(directoryPattern.exec(name)?.[1] ?? 0);

/**
 * Whether a writer directory has no owner any more. For an owner on this machine the process table
 * decides, and the start time in the name shows whether the pid was reused by another process. For
 * another machine or container only the heartbeat is visible: the folder's modification time.
 */
export function isAbandoned(path: string, name: string): boolean {
  const [, , ownerHostId, pid, ownerStartTicks] = directoryPattern.exec(name) ?? [];
  if (ownerHostId === undefined) {
    return true;
  }
  if (ownerHostId === hostId) {
    const currentStartTicks = readStartTicks(Number(pid));
    if (currentStartTicks !== undefined) {
      return currentStartTicks !== ownerStartTicks;
    }
    if (!isAlive(Number(pid))) {
      return true;
    }
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > ownerTimeoutMs;
}

let lastMs = 0;

/**
 * Returns the current time, or a later one if an earlier call returned the same time. So the directories of one process
 * can be sorted by age.
 */
function createUniqueMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

const formatMs = (ms: number): string => String(Math.round(ms)).padStart(13, "0");
const createRandomHex = (): string => randomBytes(4).toString("hex");

/**
 * Identifies the machine and the pid namespace: two containers may have the same host name, but
 * have different process tables.
 */
const hostId = createHash("sha256")
  .update(`${hostname()} ${readPidNamespace()}`)
  .digest("hex")
  .slice(0, 8);

function readPidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Not Linux: other systems have no `/proc`, and no pid namespaces.
    return "";
  }
}

/** Returns the start time of a process, in ticks since boot; `undefined` if it can't be read or the process is gone. */
function readStartTicks(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field, a name in parentheses, may contain spaces; field 22 is the start time.
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
