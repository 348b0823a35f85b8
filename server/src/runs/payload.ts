import { JsonCursor } from "../bodies/json-cursor.ts";
import type { NameCache } from "../bodies/json-cursor.ts";

/**
 * Merges the payloads of a run. They are JSON objects in ascending precedence: a later payload replaces whole
 * members. With `wanted`, only these members are read. `names` may be shared by the runs of a page.
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
 * Returns a Buffer over the same memory, because a Buffer that is sent to another thread arrives as a plain Uint8Array.
 */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
