// What the rules of the wire say of a post, checked on bytes; what it takes to make a row of it goes into its entry.
import { isDottedOrder, isUuid, stampMicros, timeLength, timeMicros } from "./forms";
import { field, member, stampLength, uuidLength } from "./layout";
import { bodyAt, entries, entryBytes, fromOf, put, putDouble, putPlace, toOf } from "./memory";
import { hasRoom, noText, pack, same, textOf } from "./texts";

const quote: u32 = 0x22;
const nullWord: u32 = 0x6c6c_756e;

/** The last entries whose tags and extra differ. */
const sourcesMost: usize = 8;
const sources: usize = memory.data(8 * 4, 4);
let sourceCount: usize = 0;

/** Begins with another body. */
export function noSources(): void {
  sourceCount = 0;
}

/** Whether the post whose members were found is an ordinary one, of which nothing is left to check. */
export function isOrdinaryPost(index: usize): bool {
  return checkPlace() && checkColumns(index) && checkTimes();
}

function checkPlace(): bool {
  const id = uuidOf(member.id);
  const trace = uuidOf(member.trace_id);
  if (id === 0 || trace === 0 || !isText(member.dotted_order)) {
    return false;
  }
  const dotted = fromOf(member.dotted_order) + 1;
  const size = toOf(member.dotted_order) - dotted - 1;
  if (!isDottedOrder(dotted, size)) {
    return false;
  }
  const own = dotted + size - uuidLength;
  if (!same(own, id, uuidLength) || !same(dotted + stampLength, trace, uuidLength)) {
    return false;
  }
  const isRoot = size === stampLength + uuidLength;
  const parent: usize = isRoot ? 0 : uuidOf(member.parent_run_id);
  if (isRoot) {
    if (!isNothing(member.parent_run_id)) {
      return false;
    }
  } else if (parent === 0 || !same(own - stampLength - 1 - uuidLength, parent, uuidLength)) {
    return false;
  }
  if (!hasRoom(size)) {
    return false;
  }
  put(field.dottedFrom, pack(dotted, size));
  put(field.dottedSize, size);
  putDouble(field.startMicros, stampMicros(own - stampLength));
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
    isNothing(member.session_id) &&
    isNothing(member.reference_example_id) &&
    putTextOf(field.name, member.name) &&
    putTextOf(field.runType, member.run_type) &&
    putTextOf(field.project, member.session_name)
  );
}

/** Without a start that of the dotted order counts, which is there already. */
function checkTimes(): bool {
  return (
    (isNothing(member.start_time) || putTime(field.startMicros, member.start_time)) &&
    (isNothing(member.end_time)
      ? putNoTime(field.endMicros)
      : putTime(field.endMicros, member.end_time))
  );
}

function putTime(place: usize, code: usize): bool {
  const from = fromOf(code);
  if (!isText(code) || toOf(code) - from !== timeLength + 2) {
    return false;
  }
  const micros = timeMicros(from + 1);
  putDouble(place, micros);
  return !isNaN(micros);
}

function putNoTime(place: usize): bool {
  putDouble(place, NaN);
  return true;
}

/** Left out, or null. */
function isNothing(code: usize): bool {
  const from = fromOf(code);
  return from === 0 || load<u32>(from) === nullWord;
}

function isText(code: usize): bool {
  const from = fromOf(code);
  return from !== 0 && load<u8>(from) === quote;
}

/** Where the UUID begins that a member is; 0 where it is none. */
function uuidOf(code: usize): usize {
  const from = fromOf(code);
  return isText(code) && toOf(code) - from === uuidLength + 2 && isUuid(from + 1) ? from + 1 : 0;
}

function putTextOf(place: usize, code: usize): bool {
  if (isNothing(code)) {
    return putNoText(place);
  }
  const from = fromOf(code) + 1;
  return isText(code) && putText(place, from, toOf(code) - 1 - from);
}

function putNoText(place: usize): bool {
  put(place, noText);
  return true;
}

function putText(place: usize, at: usize, size: usize): bool {
  const index = textOf(at, size);
  put(place, index);
  return index !== noText;
}

/** An error that says nothing is none. */
function hasError(): bool {
  return (
    !isNothing(member.error) &&
    !(isText(member.error) && toOf(member.error) - fromOf(member.error) === 2)
  );
}

/** The run whose tags and extra are the same, of the last few; this one where there is none. */
function putSource(own: usize): void {
  const known = min(sourceCount, sourcesMost);
  for (let index: usize = 0; index < known; index++) {
    const source: usize = load<u32>(sources + 4 * index);
    if (
      isSameIn(source, member.tags, field.tagsFrom, field.tagsTo) &&
      isSameIn(source, member.extra, field.extraFrom, field.extraTo)
    ) {
      put(field.source, source);
      return;
    }
  }
  putSpan(member.tags, field.tagsFrom, field.tagsTo);
  putSpan(member.extra, field.extraFrom, field.extraTo);
  put(field.source, own);
  store<u32>(sources + 4 * (sourceCount % sourcesMost), <u32>own);
  sourceCount += 1;
}

function putSpan(code: usize, from: usize, to: usize): void {
  if (fromOf(code) !== 0) {
    putPlace(from, fromOf(code));
    putPlace(to, toOf(code));
  }
}

/** Whether a run that is a source has the same member as the one that is looked at. */
function isSameIn(source: usize, code: usize, from: usize, to: usize): bool {
  const entry = entries + source * entryBytes;
  const at: usize = load<u32>(entry + 4 * from);
  const size = <usize>load<u32>(entry + 4 * to) - at;
  return toOf(code) - fromOf(code) === size && same(bodyAt + at, fromOf(code), size);
}
