import { createHash } from "node:crypto";
import { isUuid } from "millrace/model";

/** Default namespace of ids that imports create: the URL namespace of RFC 9562. */
const urlNamespace = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";

/**
 * Creates a version 5 UUID (RFC 9562, section 5.5) from a name, so that every import of the same row creates the same
 * id.
 */
export function createStableId(name: string, namespace = urlNamespace): string {
  const digest = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name)
    .digest()
    .subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}

/** Returns the id itself if it is a UUID, otherwise a UUID that is derived from `name`. */
export const keepOrCreateId = (id: string, name: string, namespace: string): string =>
  isUuid(id) ? id.toLowerCase() : createStableId(name, namespace);
