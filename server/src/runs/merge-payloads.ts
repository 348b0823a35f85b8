import { JsonCursor } from "../bodies/json-cursor.ts";
import type { NameCache } from "../bodies/json-cursor.ts";

/**
 * Merges the payloads of a run, which are JSON objects in ascending precedence: a member of a later payload replaces
 * the whole member of the same name in earlier ones. If `wanted` is given, only the members with these names are read.
 * `names` is a cache of member names, which the runs of a page may share.
 */
export function mergePayloads(
  bodies: readonly Uint8Array[],
  wanted?: ReadonlySet<string>,
  names?: NameCache,
): Map<string, Buffer> {
  const merged = new Map<string, Buffer>();
  for (const body of bodies) {
    const members = new JsonCursor(asBuffer(body), undefined, names).readMembers(wanted);
    if (bodies.length === 1) {
      return members;
    }
    for (const [name, json] of members) {
      merged.set(name, json);
    }
  }
  return merged;
}

/**
 * Returns a Buffer that shares the memory of `bytes`: a Buffer that was sent by another thread has arrived as a plain
 * Uint8Array.
 */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
