import process from "node:process";

/**
 * Buffers of at least this size are transferred. Smaller ones may be part of Node's shared pool, which can't be
 * transferred.
 */
const minTransferBytes = 65_536;

/**
 * Finds the buffers of payloads and files in a result, which are transferred to the caller's thread without a copy.
 */
export function findTransferable(result: unknown): ArrayBuffer[] {
  const foundBuffers = new Set<ArrayBuffer>();
  const collect = (value: unknown, depth: number): void => {
    if (value instanceof Uint8Array) {
      const { buffer } = value;
      // Node marks the shared pool of small buffers as untransferable. Node 20 has no function to read that mark, but
      // its pool has only 8 KiB; later versions have larger pools.
      if (
        buffer instanceof ArrayBuffer &&
        buffer.byteLength >= minTransferBytes &&
        !isUntransferable(buffer)
      ) {
        foundBuffers.add(buffer);
      }
    } else if (depth > 0 && typeof value === "object" && value !== null) {
      const members = Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value);
      for (const member of members) {
        collect(member, depth - 1);
      }
    }
  };
  collect(result, maxDepth);
  return [...foundBuffers];
}

const isMarkedAsUntransferable: unknown = Reflect.get(
  process.getBuiltinModule("node:worker_threads"),
  "isMarkedAsUntransferable",
);
const isUntransferable = (buffer: ArrayBuffer): boolean =>
  typeof isMarkedAsUntransferable === "function" &&
  Reflect.apply(isMarkedAsUntransferable, undefined, [buffer]) === true;

/**
 * Number of levels that are searched for buffers: a page, its runs, their payloads, and the bytes of a payload. No
 * result contains bytes at a deeper level.
 */
const maxDepth = 4;
