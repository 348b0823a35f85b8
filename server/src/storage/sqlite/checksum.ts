import { channel } from "node:diagnostics_channel";
import { crc32 } from "node:zlib";
import { RequestError } from "../../model/errors.ts";

/**
 * Computes a checksum of a row's content and of the names that identify the row, because a damaged index may lead
 * to an intact row of something else. Names are combined by exclusive or, so that a row can be renamed without
 * reading its content.
 */
export function checksumOf(bytes: Uint8Array, ...names: readonly string[]): number {
  return (crc32(bytes) ^ namesSum(names)) >>> 0;
}

/**
 * The number that changes a checksum under some names to the one under other names; see {@link changedChecksum}.
 */
export const checksumChange = (from: readonly string[], to: readonly string[]): number =>
  (namesSum(from) ^ namesSum(to)) >>> 0;

/** SQL for the column `checksum`, changed by the value of a parameter. SQLite has no operator for exclusive or. */
export const changedChecksum = (parameter: string): string =>
  `(checksum | ${parameter}) - (checksum & ${parameter})`;

function namesSum(names: readonly string[]): number {
  let sum = 0;
  for (const name of names) {
    sum ^= crc32(name);
  }
  return sum;
}

/** Whether a row is as it was written. Rows that are older than the checksums have none. */
export const isSound = (checksum: unknown, bytes: Uint8Array, ...names: string[]): boolean =>
  checksum === null || checksum === checksumOf(bytes, ...names);

const reports = channel("millrace:server:damage");

/** Reports damage, and returns the text for the response. */
export function reportDamage(subject: string): string {
  const detail = `${subject} is damaged on disk: what is stored does not match its checksum. Restore a backup of the data folder; other runs are served`;
  reports.publish(detail);
  return detail;
}

/** @throws RequestError 500, always. */
export function failDamaged(subject: string): never {
  throw new RequestError(500, reportDamage(subject));
}

/** Calls `listener` for each report of this thread. */
export function onDamage(listener: (detail: string) => void): void {
  reports.subscribe((detail) => listener(String(detail)));
}
