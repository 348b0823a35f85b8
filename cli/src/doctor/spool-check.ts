import { access, constants, stat, statfs } from "node:fs/promises";
import { resolve } from "node:path";
import { inspectSpool } from "millrace/spool";
import type { SpoolFile } from "millrace/spool";
import { isFileMissing } from "../transfers/find-files.ts";
import { toPrintable } from "../to-printable.ts";
import type { Check } from "./check.ts";
import { readErrorMessage } from "./network-checks.ts";
import type { Settings } from "../local-server/settings.ts";

/** Minimum free space in bytes: with less, a spool can hold too few runs to be useful. */
const minFreeBytes = 268_435_456;

/** Checks that the spool folder can be used, and counts the records in it. */
export async function checkSpool({ spoolDir }: Settings): Promise<Check> {
  const name = "spool";
  if (spoolDir === undefined) {
    return {
      name,
      status: "ok",
      found: "none: runs that can't be delivered before the program ends are lost",
    };
  }
  const folder = resolve(spoolDir.value);
  const location = `${toPrintable(folder)} (from ${spoolDir.source})`;
  try {
    const folderStats = await stat(folder);
    if (!folderStats.isDirectory()) {
      return {
        name,
        status: "failed",
        found: `${location} is not a folder`,
        todo: "Set it to a folder.",
      };
    }
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    if (freeBytes < minFreeBytes) {
      const mebibytes = Math.floor(freeBytes / 1_048_576);
      const todo = "Free up space, or use a folder on another disk.";
      return { name, status: "failed", found: `${location}: only ${mebibytes} MiB are free`, todo };
    }
    return describeContent(location, folder, await inspectSpool(folder));
  } catch (error) {
    return isFileMissing(error)
      ? {
          name,
          status: "ok",
          found: `${location}: does not exist yet; the first client creates it`,
        }
      : {
          name,
          status: "failed",
          found: toPrintable(`${location} can't be used: ${readErrorMessage(error)}`),
          todo: "Give this user permission to read and write it, or use another folder.",
        };
  }
}

function describeContent(location: string, folder: string, files: readonly SpoolFile[]): Check {
  const name = "spool";
  const countRecords = (state: SpoolFile["state"]): number =>
    files.filter((file) => file.state === state).reduce((sum, file) => sum + file.records, 0);
  const damagedCount = files.filter(({ faults }) => faults.length > 0).length;
  const [waiting, dead] = [countRecords("waiting"), countRecords("dead")];
  const found = `${location}: ${waiting} records waiting, ${dead} refused`;
  if (damagedCount > 0) {
    const todo = `For details, run: millrace spool verify ${quotePath(folder)}`;
    return { name, status: "failed", found: `${found}, damaged files: ${damagedCount}`, todo };
  }
  return waiting + dead === 0
    ? { name, status: "ok", found: `${location}: empty` }
    : {
        name,
        status: "warning",
        found,
        todo: `To send them, run: millrace replay ${quotePath(folder)}`,
      };
}

/** Quotes a path in a command that the user copies, if a shell would split or change the path. */
function quotePath(path: string): string {
  if (/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(path)) {
    // If the path were printed, such a character could move the terminal's cursor.
    return "<spool folder>";
  }
  if (process.platform === "win32") {
    return /[\s&()^;,]/.test(path) ? `"${path}"` : path;
  }
  return /^[\w./:@%+=,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
