import { JsonCursor } from "../bodies/json-cursor.ts";

/**
 * Merges the payloads of a run. They are JSON objects in ascending precedence: a later payload replaces whole
 * members. With `wanted`, only these members are read.
 */
export function mergePayloads(
  bodies: readonly Uint8Array[],
  wanted?: ReadonlySet<string>,
): Map<string, Buffer> {
  const merged = new Map<string, Buffer>();
  for (const body of bodies) {
    for (const [name, json] of new JsonCursor(asBuffer(body)).readMembers(wanted)) {
      merged.set(name, json);
    }
  }
  return merged;
}

/**
 * Returns a Buffer over the same memory, because a Buffer that is sent to another thread arrives as a plain Uint8Array.
 */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
