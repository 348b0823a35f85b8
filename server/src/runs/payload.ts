import { JsonCursor } from "../bodies/json-cursor.ts";

/**
 * The members that a run has after its payloads, JSON objects in the order in which later ones win: a
 * member is replaced whole. With `wanted`, of those members alone.
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

/** Without a copy: what comes from another thread is a Buffer no longer. */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
