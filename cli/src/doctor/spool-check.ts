import { access, constants, stat, statfs } from "node:fs/promises";
import { resolve } from "node:path";
import { inspectSpool } from "millrace/spool";
import type { SpoolFile } from "millrace/spool";
import { isFileMissing } from "../transfers/find-files.ts";
import { shown } from "./check.ts";
import type { Check } from "./check.ts";
import { messageOf } from "./network-checks.ts";
import type { Settings } from "./settings.ts";

/** Free space below which a spool is of little use. */
const leastFreeBytes = 268_435_456;

/** Whether the spool's folder can be used, and what waits in it. */
export async function checkSpool({ spoolDir }: Settings): Promise<Check> {
  const name = "spool";
  if (spoolDir === undefined) {
    return {
      name,
      status: "ok",
      found: "none: runs that can't be delivered before a program ends are lost",
    };
  }
  const folder = resolve(spoolDir.value);
  const at = `${shown(folder)} (from ${spoolDir.from})`;
  try {
    const found = await stat(folder);
    if (!found.isDirectory()) {
      return { name, status: "failed", found: `${at} is not a folder`, todo: "Name a folder." };
    }
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    if (freeBytes < leastFreeBytes) {
      const mib = Math.floor(freeBytes / 1_048_576);
      const todo = "Make room, or name a folder on another disk.";
      return { name, status: "failed", found: `${at}: ${mib} MiB are free`, todo };
    }
    return describe(at, folder, await inspectSpool(folder));
  } catch (error) {
    return isFileMissing(error)
      ? { name, status: "ok", found: `${at}: not there yet; the first client creates it` }
      : {
          name,
          status: "failed",
          found: shown(`${at} can't be used: ${messageOf(error)}`),
          todo: "Give this user the rights to read and write it, or name another folder.",
        };
  }
}

function describe(at: string, folder: string, files: readonly SpoolFile[]): Check {
  const name = "spool";
  const records = (state: SpoolFile["state"]): number =>
    files.filter((file) => file.state === state).reduce((sum, file) => sum + file.records, 0);
  const damaged = files.filter(({ faults }) => faults.length > 0).length;
  const [waiting, dead] = [records("waiting"), records("dead")];
  const found = `${at}: ${waiting} records wait, ${dead} were refused`;
  if (damaged > 0) {
    const todo = `See what: millrace spool verify ${folder}`;
    return { name, status: "failed", found: `${found}, ${damaged} files are damaged`, todo };
  }
  return waiting + dead === 0
    ? { name, status: "ok", found: `${at}: empty` }
    : { name, status: "warning", found, todo: `Send them: millrace replay ${folder}` };
}
