import { channel } from "node:diagnostics_channel";
import { crc32 } from "node:zlib";
import { RequestError } from "../../model/errors.ts";

/**
 * A checksum of what a row holds and of whose it is: a damaged index may lead to a whole row of somebody else.
 * Each name goes in by exclusive or, so that a row can be renamed without a look at its bytes.
 */
export function checksumOf(bytes: Uint8Array, ...names: readonly string[]): number {
  return (crc32(bytes) ^ namesSum(names)) >>> 0;
}

/** What takes a checksum under some names to the same under others; see {@link changedChecksum}. */
export const checksumChange = (from: readonly string[], to: readonly string[]): number =>
  (namesSum(from) ^ namesSum(to)) >>> 0;

/** The column `checksum` changed by the value of a parameter; SQLite has no exclusive or. */
export const changedChecksum = (parameter: string): string =>
  `(checksum | ${parameter}) - (checksum & ${parameter})`;

function namesSum(names: readonly string[]): number {
  let sum = 0;
  for (const name of names) {
    sum ^= crc32(name);
  }
  return sum;
}

/** Whether a row is as it was written. Rows from before there were checksums have none. */
export const isSound = (checksum: unknown, bytes: Uint8Array, ...names: string[]): boolean =>
  checksum === null || checksum === checksumOf(bytes, ...names);

const reports = channel("millrace:server:damage");

/** Reports damage, and returns the sentence for the response. */
export function reportDamage(what: string): string {
  const detail = `${what} is damaged on disk: what is stored does not match its checksum. Restore a backup of the data folder; other runs are served`;
  reports.publish(detail);
  return detail;
}

/** @throws RequestError 500, always. */
export function failDamaged(what: string): never {
  throw new RequestError(500, reportDamage(what));
}

/** Calls back with each report of this thread. */
export function onDamage(listener: (detail: string) => void): void {
  reports.subscribe((detail) => listener(String(detail)));
}
