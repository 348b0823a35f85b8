import { MessageChannel } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

/**
 * Releases the memory of a body's pieces, which must not be read afterwards. Left to the garbage collector, arriving bodies fill
 * the memory until a full collection, several times a second. A piece that shares its memory with others is not
 * released.
 */
export function releasePieces(pieces: readonly Buffer[]): void {
  for (const { buffer, length } of pieces) {
    if (buffer instanceof ArrayBuffer && length > 0 && buffer.byteLength === length) {
      try {
        release(buffer);
      } catch {
        // It is not to be taken from its owner: the collector has it in time.
      }
    }
  }
}

/** What Node 20 does not have. */
interface Transferable {
  readonly transfer?: (bytes: number) => unknown;
}

function release(memory: ArrayBuffer): void {
  if ((memory as Transferable).transfer === undefined) {
    nowhere ??= closedPort();
    nowhere.postMessage(undefined, [memory]);
  } else {
    (memory as Transferable).transfer?.(0);
  }
}

/** What is sent there is gone at once. */
let nowhere: MessagePort | undefined;

function closedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  return port2;
}
