import { randomFillSync } from "node:crypto";

/** Creates a UUID of version 7 (RFC 9562, section 5.7), whose first 48 bits are the time. */
export const uuid7 = (): string => uuid7FromTime(Date.now());

/** Like {@link uuid7}, with a given time: milliseconds since the Unix epoch, or a string that `Date.parse` accepts. */
export function uuid7FromTime(time: number | string): string {
  const milliseconds = Math.floor(typeof time === "string" ? Date.parse(time) : time);
  const bytes = randomFillSync(Buffer.alloc(16));
  bytes.writeUIntBE(Number.isSafeInteger(milliseconds) ? milliseconds : Date.now(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
