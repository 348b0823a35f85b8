import { uuidLength } from "../../model/dotted-order.ts";
import { readLatin1 } from "../../model/buffer-text.ts";
import {
  field,
  fieldHeadBytes,
  headOffset,
  operationCode,
  recordHeadBytes,
  tag,
} from "../../model/records/tape-format.ts";
import type { ByteTarget } from "./order-bytes.ts";

/** What one encoded record contains of its run. */
export interface RecordContent {
  /** The run's id in lower case. */
  readonly runId: string;
  readonly isRunStart: boolean;
  /** Whether the record contains the time at which the run ended. */
  readonly isRunEnd: boolean;
}

/**
 * Reads which run a record belongs to, and whether it starts and ends the run. `end` is the offset after the record.
 */
export function readRecordContent(
  { bytes, view }: ByteTarget,
  start: number,
  end: number,
): RecordContent {
  let idOffset = 0;
  let isRunEnd = false;
  for (let offset = start + recordHeadBytes; offset < end;) {
    const code = bytes[offset] ?? 0;
    const length = view.getUint32(offset + 1, true);
    const contentOffset = offset + fieldHeadBytes;
    if (code === field.dottedOrder || code === field.id) {
      idOffset = contentOffset + length - uuidLength;
    } else if (code === field.endMicros) {
      isRunEnd = true;
    } else if (code === field.endTime) {
      isRunEnd ||= bytes[contentOffset] !== tag.null;
    }
    offset = contentOffset + length;
  }
  return {
    runId: readLatin1(bytes, idOffset, idOffset + uuidLength).toLowerCase(),
    isRunStart: bytes[start + headOffset.operation] === operationCode.post,
    isRunEnd,
  };
}
