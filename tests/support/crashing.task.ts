import type { RunOperation } from "../../src/workers/json/operations.ts";
import { RunJson } from "../../src/workers/json/run-json.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";

/**
 * The worker's task, which fails on runs with these names: `loop` keeps the thread busy forever, `exit` ends it, `heap`
 * exhausts its memory, and `throw` throws when it is serialized.
 */
export { default, report } from "../../src/workers/host/ship.task.ts";

const readerMembers = Object.getOwnPropertyDescriptors(TapeReader.prototype);
const jsonMembers = Object.getOwnPropertyDescriptors(RunJson.prototype);

// An exchange is marked before it is read.
TapeReader.prototype.markBeingWritten = function markThenFail(
  this: TapeReader,
  records: readonly number[],
): void {
  readerMembers.markBeingWritten.value?.call(this, records);
  for (const record of this.hasExchanges ? records : []) {
    const start = this.findHead(record);
    const length = this.view.getUint32(start, true);
    failOn(this.bytes.toString("latin1", start, start + length));
  }
};

RunJson.prototype.markWhileWriting = function markThenFail(
  this: RunJson,
  run: RunOperation,
  write: () => void,
): void {
  jsonMembers.markWhileWriting.value?.call(this, run, () => {
    const { start, end } = this.reader.findExtent([run]);
    failOn(this.reader.bytes.toString("latin1", start, end));
    write();
  });
};

/** Searches the bytes of a tape for the names. On a tape, a short text follows a byte of 0x80 plus its length. */
function failOn(tape: string): void {
  const isNamed = (name: string): boolean =>
    tape.includes(String.fromCharCode(0x80 + name.length) + name);
  if (isNamed("loop")) {
    for (;;) {
      // Never ends.
    }
  }
  if (isNamed("exit")) {
    process.exit(3);
  }
  if (isNamed("throw")) {
    throw new TypeError("thrown by the test");
  }
  if (isNamed("heap")) {
    const retained: unknown[] = [];
    for (;;) {
      retained.push(Array.from({ length: 100_000 }, (_, index) => ({ index })));
    }
  }
}
