// Checks a post against the rules of the wire format, on bytes. The data for its database row is
// stored in its entry.
import { isDottedOrder, isUuid, stampMicros, timeLength, timeMicros } from "./forms";
import { field, member, stampLength, uuidLength } from "./layout";
import {
  bodyAt,
  entries,
  entryBytes,
  valueStartOf,
  put,
  putDouble,
  putOffset,
  valueEndOf,
} from "./memory";
import { hasCapacity, noText, pack, hasSameBytes, findText } from "./texts";

const quote: u32 = 0x22;
const nullWord: u32 = 0x6c6c_756e;

/** The last entries with distinct tags and extra. */
const maxSources: usize = 8;
const sources: usize = memory.data(8 * 4, 4);
let sourceCount: usize = 0;

/** Resets the table for a new body. */
export function resetSources(): void {
  sourceCount = 0;
}

/** Whether the current post has the common form, for which nothing is left to check. */
export function hasCommonForm(index: usize): bool {
  return checkAncestry() && checkColumns(index) && checkTimes();
}

function checkAncestry(): bool {
  const id = readUuid(member.id);
  const trace = readUuid(member.trace_id);
  if (id === 0 || trace === 0 || !isText(member.dotted_order)) {
    return false;
  }
  const dotted = valueStartOf(member.dotted_order) + 1;
  const size = valueEndOf(member.dotted_order) - dotted - 1;
  if (!isDottedOrder(dotted, size)) {
    return false;
  }
  const ownId = dotted + size - uuidLength;
  if (
    !hasSameBytes(ownId, id, uuidLength) ||
    !hasSameBytes(dotted + stampLength, trace, uuidLength)
  ) {
    return false;
  }
  const isRoot = size === stampLength + uuidLength;
  const parent: usize = isRoot ? 0 : readUuid(member.parent_run_id);
  if (isRoot) {
    if (!isMissing(member.parent_run_id)) {
      return false;
    }
  } else if (
    parent === 0 ||
    !hasSameBytes(ownId - stampLength - 1 - uuidLength, parent, uuidLength)
  ) {
    return false;
  }
  if (!hasCapacity(size)) {
    return false;
  }
  put(field.dottedFrom, pack(dotted, size));
  put(field.dottedSize, size);
  putDouble(field.startMicros, stampMicros(ownId - stampLength));
  return (
    putText(field.id, id, uuidLength) &&
    putText(field.traceId, trace, uuidLength) &&
    (isRoot ? putNoText(field.parent) : putText(field.parent, parent, uuidLength))
  );
}

function checkColumns(index: usize): bool {
  put(field.hasError, <usize>hasError());
  putSource(index);
  return (
    isMissing(member.session_id) &&
    isMissing(member.reference_example_id) &&
    putTextOf(field.name, member.name) &&
    putTextOf(field.runType, member.run_type) &&
    putTextOf(field.project, member.session_name)
  );
}

/** Without a start time, the time of the dotted order is used, which was stored before. */
function checkTimes(): bool {
  return (
    (isMissing(member.start_time) || putTime(field.startMicros, member.start_time)) &&
    (isMissing(member.end_time)
      ? putNoTime(field.endMicros)
      : putTime(field.endMicros, member.end_time))
  );
}

function putTime(entryField: usize, code: usize): bool {
  const from = valueStartOf(code);
  if (!isText(code) || valueEndOf(code) - from !== timeLength + 2) {
    return false;
  }
  const micros = timeMicros(from + 1);
  putDouble(entryField, micros);
  return !isNaN(micros);
}

function putNoTime(entryField: usize): bool {
  putDouble(entryField, NaN);
  return true;
}

/** Whether a member is missing or null. */
function isMissing(code: usize): bool {
  const from = valueStartOf(code);
  return from === 0 || load<u32>(from) === nullWord;
}

function isText(code: usize): bool {
  const from = valueStartOf(code);
  return from !== 0 && load<u8>(from) === quote;
}

/** Address of the UUID in a member; 0 if the member is not a UUID. */
function readUuid(code: usize): usize {
  const from = valueStartOf(code);
  return isText(code) && valueEndOf(code) - from === uuidLength + 2 && isUuid(from + 1)
    ? from + 1
    : 0;
}

function putTextOf(entryField: usize, code: usize): bool {
  if (isMissing(code)) {
    return putNoText(entryField);
  }
  const from = valueStartOf(code) + 1;
  return isText(code) && putText(entryField, from, valueEndOf(code) - 1 - from);
}

function putNoText(entryField: usize): bool {
  put(entryField, noText);
  return true;
}

function putText(entryField: usize, at: usize, size: usize): bool {
  const index = findText(at, size);
  put(entryField, index);
  return index !== noText;
}

/** Whether the run has an error. An empty text does not count. */
function hasError(): bool {
  return (
    !isMissing(member.error) &&
    !(isText(member.error) && valueEndOf(member.error) - valueStartOf(member.error) === 2)
  );
}

/**
 * Finds a recent run with the same tags and extra, and stores its index as the source; otherwise
 * the index of this run.
 */
function putSource(ownIndex: usize): void {
  const sourcesInUse = min(sourceCount, maxSources);
  for (let index: usize = 0; index < sourcesInUse; index++) {
    const source: usize = load<u32>(sources + 4 * index);
    if (
      hasSameValue(source, member.tags, field.tagsFrom, field.tagsTo) &&
      hasSameValue(source, member.extra, field.extraFrom, field.extraTo)
    ) {
      put(field.source, source);
      return;
    }
  }
  putSpan(member.tags, field.tagsFrom, field.tagsTo);
  putSpan(member.extra, field.extraFrom, field.extraTo);
  put(field.source, ownIndex);
  store<u32>(sources + 4 * (sourceCount % maxSources), <u32>ownIndex);
  sourceCount += 1;
}

function putSpan(code: usize, from: usize, to: usize): void {
  if (valueStartOf(code) !== 0) {
    putOffset(from, valueStartOf(code));
    putOffset(to, valueEndOf(code));
  }
}

/** Whether the run `source` has the same value of a member as the current run. */
function hasSameValue(source: usize, code: usize, from: usize, to: usize): bool {
  const entry = entries + source * entryBytes;
  const at: usize = load<u32>(entry + 4 * from);
  const size = <usize>load<u32>(entry + 4 * to) - at;
  return (
    valueEndOf(code) - valueStartOf(code) === size &&
    hasSameBytes(bodyAt + at, valueStartOf(code), size)
  );
}
