import { MessageChannel } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

/**
 * Releases the memory of a body's chunks, which must not be read afterwards. Otherwise arriving bodies would fill the
 * memory so fast that a full garbage collection would be needed several times a second. A chunk that shares its memory
 * with others is not released.
 */
export function releaseChunks(chunks: readonly Buffer[]): void {
  for (const { buffer, length } of chunks) {
    if (buffer instanceof ArrayBuffer && length > 0 && buffer.byteLength === length) {
      try {
        release(buffer);
      } catch {
        // The memory can't be transferred, so the garbage collector frees it later.
      }
    }
  }
}

/** `ArrayBuffer.prototype.transfer`, which Node 20 does not have. */
interface Transferable {
  readonly transfer?: (bytes: number) => unknown;
}

function release(memory: ArrayBuffer): void {
  if ((memory as Transferable).transfer === undefined) {
    discardPort ??= createDiscardPort();
    discardPort.postMessage(undefined, [memory]);
  } else {
    (memory as Transferable).transfer?.(0);
  }
}

/** Memory that is transferred to this port is freed at once, because the other end of the channel is closed. */
let discardPort: MessagePort | undefined;

function createDiscardPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  return port2;
}
