import { channel } from "node:diagnostics_channel";
import { crc32 } from "node:zlib";
import { RequestError } from "../../model/errors.ts";

/**
 * Computes a checksum of a row's content and of the names that identify the row. The names are included because a
 * damaged index may lead to an intact row that is not the requested one. The checksums of the content and of each name
 * are combined by exclusive or, so that a row can be renamed without reading its content.
 */
export function computeChecksum(bytes: Uint8Array, ...names: readonly string[]): number {
  return (crc32(bytes) ^ computeNamesChecksum(names)) >>> 0;
}

/** Returns the number by which the checksum of a row changes when its names change; see {@link changedChecksumSql}. */
export const computeChecksumChange = (
  oldNames: readonly string[],
  newNames: readonly string[],
): number => (computeNamesChecksum(oldNames) ^ computeNamesChecksum(newNames)) >>> 0;

/**
 * SQL for the exclusive or of the column `checksum` and a parameter. SQLite has no operator for this operation.
 */
export const changedChecksumSql = (parameter: string): string =>
  `(checksum | ${parameter}) - (checksum & ${parameter})`;

function computeNamesChecksum(names: readonly string[]): number {
  let sum = 0;
  for (const name of names) {
    sum ^= crc32(name);
  }
  return sum;
}

/**
 * Whether a row has the content that was written. Rows that were stored before checksums existed have no checksum and
 * count as intact.
 */
export const isIntact = (checksum: unknown, bytes: Uint8Array, ...names: string[]): boolean =>
  checksum === null || checksum === computeChecksum(bytes, ...names);

const damageChannel = channel("millrace:server:damage");

/** Reports damaged data to the listeners of this thread, and returns the message for the response. */
export function reportDamage(subject: string): string {
  const detail = `${subject} is damaged on disk: what is stored does not match its checksum. Restore a backup of the data folder; other data can still be read`;
  damageChannel.publish(detail);
  return detail;
}

/**
 * Reports damage to the listeners of this thread.
 *
 * @throws RequestError 500, always.
 */
export function throwDamaged(subject: string): never {
  throw new RequestError(500, reportDamage(subject));
}

/** Calls `listener` for each damage that this thread reports. */
export function onDamage(listener: (detail: string) => void): void {
  damageChannel.subscribe((detail) => listener(String(detail)));
}
