import { channel } from "node:diagnostics_channel";
import { crc32 } from "node:zlib";
import { RequestError } from "../../model/errors.ts";

/**
 * Computes a checksum of a row's content and of the names that identify the row, because a damaged index may lead to a
 * row that is intact, but is not the requested one. Names are combined by exclusive or, so that a row can be renamed
 * without reading its content.
 */
export function checksumOf(bytes: Uint8Array, ...names: readonly string[]): number {
  return (crc32(bytes) ^ namesSum(names)) >>> 0;
}

/** Returns the number that changes the checksum of a row when its names change; see {@link changedChecksum}. */
export const checksumChange = (from: readonly string[], to: readonly string[]): number =>
  (namesSum(from) ^ namesSum(to)) >>> 0;

/**
 * SQL for the column `checksum`, combined with the value of a parameter by exclusive or, for which SQLite has no
 * operator.
 */
export const changedChecksum = (parameter: string): string =>
  `(checksum | ${parameter}) - (checksum & ${parameter})`;

function namesSum(names: readonly string[]): number {
  let sum = 0;
  for (const name of names) {
    sum ^= crc32(name);
  }
  return sum;
}

/** Whether a row is as it was written. Rows that were stored before checksums existed have none and count as intact. */
export const isSound = (checksum: unknown, bytes: Uint8Array, ...names: string[]): boolean =>
  checksum === null || checksum === checksumOf(bytes, ...names);

const reports = channel("millrace:server:damage");

/** Reports damage to the listeners, and returns the message for the response. */
export function reportDamage(subject: string): string {
  const detail = `${subject} is damaged on disk: what is stored does not match its checksum. Restore a backup of the data folder; other runs are served`;
  reports.publish(detail);
  return detail;
}

/** @throws RequestError 500, always. */
export function failDamaged(subject: string): never {
  throw new RequestError(500, reportDamage(subject));
}

/** Calls `listener` for each damage that this thread reports. */
export function onDamage(listener: (detail: string) => void): void {
  reports.subscribe((detail) => listener(String(detail)));
}
