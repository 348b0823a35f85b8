// The body of `POST /runs/batch`: one walk through all of it, which tells where each run has what, and whether a post is an
// ordinary one, of which nothing is left to check. server/src/ingest/batch-walk.ts reads the tables.
import { isDottedOrder, isUuid, noSeconds, stampMicros, timeLength, timeMicros } from "./forms";
import { colon, escapes, hasMark, noMark, space, takesComma, text, value } from "./json";
import {
  columnCodes,
  field,
  kind,
  limit,
  member,
  memberCodes,
  stampLength,
  uuidLength,
} from "./layout";
import {
  addMember,
  bodyAt,
  codeOf,
  entries,
  entryBytes,
  fromOf,
  memberCount,
  membersAt,
  nameEndOf,
  nameOf,
  noMembers,
  noValues,
  openEntry,
  packed,
  put,
  putDouble,
  putPlace,
  setValue,
  texts,
  toOf,
} from "./memory";
import { hasRoom, noText, noTexts, pack, packedSize, same, textCount, textOf } from "./texts";

const quote: u8 = 0x22;
const openBrace: u32 = 0x7b;
const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;
const closeBracket: u32 = 0x5d;
const nullWord: u32 = 0x6c6c_756e;
/** Zeros behind the body, and bytes that may be read there. */
const margin: usize = 64;
/** Levels around a run, and around its members' values. */
const aroundRun: u32 = 1;
const aroundValue: u32 = 2;
/** Members of one run with names that are not foreseen; with more it is no ordinary one. */
const othersMost: usize = 8;

export const bodyPlace = bodyAt;
export const entriesPlace = entries;
export const membersPlace = membersAt;
export const textsPlace = texts;
export const packedPlace = packed;
export const marginBytes = margin;

/** By code: the name of a member, 32 bytes, and its length. */
const names: usize = memory.data(64 * 32);
const nameSizes: usize = memory.data(64);
/** By length and first byte: the code and one. */
const nameSlots: usize = memory.data(256);
/** Where a name is written for {@link know}. */
export const namePlace: usize = memory.data(64);

/** Runs of each list, and where its first is. */
export let postCount: usize = 0;
export let postFirst: usize = 0;
export let patchCount: usize = 0;
export let patchFirst: usize = 0;
let runCount: usize = 0;
let seen: u64 = 0;
/** The last entries whose tags and extra differ. */
const sourcesMost: usize = 8;
const sources: usize = memory.data(8 * 4, 4);
let sourceCount: usize = 0;

/** A member's name stands at `namePlace`. */
export function know(code: usize, size: usize): void {
  memory.copy(names + 32 * code, namePlace, 32);
  store<u8>(nameSizes + code, <u8>size);
  let slot = slotOf(namePlace, size);
  while (load<u8>(nameSlots + slot) !== 0) {
    slot = (slot + 1) & 255;
  }
  store<u8>(nameSlots + slot, <u8>(code + 1));
}

function slotOf(at: usize, size: usize): usize {
  return (size * 23 + <usize>load<u8>(at) * 7 + <usize>load<u8>(at + 1)) & 255;
}

/** The code of a name; {@link memberCodes} where it has none. */
function codeOfName(at: usize, size: usize): usize {
  let slot = slotOf(at, size);
  while (true) {
    const known: usize = load<u8>(nameSlots + slot);
    if (known === 0) {
      return memberCodes;
    }
    if (load<u8>(nameSizes + known - 1) === size && same(names + 32 * (known - 1), at, size)) {
      return known - 1;
    }
    slot = (slot + 1) & 255;
  }
}

/** So many texts were told. */
export function textsTold(): usize {
  return textCount;
}

/** So many bytes of them are packed. */
export function bytesPacked(): usize {
  return packedSize;
}

/** Walks over the body of so many bytes. A trap says that it has to go the other way. */
export function walk(size: usize): void {
  begin(size);
  let at = space(bodyAt);
  expect(at, openBrace);
  at = space(at + 1);
  if (load<u8>(at) === closeBrace) {
    at += 1;
  } else {
    while (true) {
      at = space(topMember(at));
      const isMore = takesComma(at, closeBrace);
      at += 1;
      if (!isMore) {
        break;
      }
      at = space(at);
    }
  }
  if (space(at) !== bodyAt + size) {
    unreachable();
  }
}

function begin(size: usize): void {
  memory.fill(bodyAt + size, 0, margin);
  noSeconds();
  noTexts();
  noMembers();
  runCount = 0;
  sourceCount = 0;
  postCount = 0;
  postFirst = 0;
  patchCount = 0;
  patchFirst = 0;
}

function expect(at: usize, byte: u32): void {
  if (load<u8>(at) !== byte) {
    unreachable();
  }
}

/** One member of the body. */
function topMember(nameAt: usize): usize {
  const before = escapes;
  const nameEnd = text(nameAt);
  const from = colon(nameEnd);
  const size = nameEnd - nameAt;
  const isPost = size === 6 && load<u32>(nameAt + 1) === 0x7473_6f70;
  const isPatch =
    size === 7 && load<u32>(nameAt + 1) === 0x6374_6170 && load<u8>(nameAt + 5) === 0x68;
  if (!isPost && !isPatch) {
    // It may say `post` with escapes.
    if (escapes !== before) {
      unreachable();
    }
    return value(from, 0);
  }
  // Of equal names the last one counts.
  if ((isPost ? postCount : patchCount) > 0) {
    unreachable();
  }
  if (load<u32>(from) === nullWord) {
    return from + 4;
  }
  const first = runCount;
  const to = list(from, isPost);
  if (isPost) {
    postFirst = first;
    postCount = runCount - first;
  } else {
    patchFirst = first;
    patchCount = runCount - first;
  }
  return to;
}

function list(from: usize, isPost: bool): usize {
  expect(from, openBracket);
  let at = space(from + 1);
  if (load<u8>(at) === closeBracket) {
    return at + 1;
  }
  while (true) {
    at = space(item(at, isPost));
    if (!takesComma(at, closeBracket)) {
      return at + 1;
    }
    at = space(at + 1);
  }
}

function item(from: usize, isPost: bool): usize {
  if (runCount === limit.entries) {
    unreachable();
  }
  openEntry(runCount);
  putPlace(field.from, from);
  let to: usize = 0;
  if (load<u8>(from) === openBrace) {
    to = run(from, isPost);
  } else {
    put(field.kind, kind.other);
    to = value(from, aroundRun);
  }
  runCount += 1;
  return to;
}

function run(from: usize, isPost: bool): usize {
  const firstMember = memberCount;
  put(field.members, firstMember);
  seen = 0;
  noValues();
  let isOrdinary = isPost;
  let hasMeasures = false;
  let others: usize = 0;
  let keptAt: usize = 0;
  let keptTo: usize = 0;
  /** Of the last that was kept: its number, from 1 on. */
  let keptLast: usize = 0;
  let at = space(from + 1);
  if (load<u8>(at) === closeBrace) {
    at += 1;
  } else {
    while (true) {
      const before = escapes;
      const nameEnd = text(at);
      const size = nameEnd - at - 2;
      const code: usize = escapes === before ? codeOfName(at + 1, size) : memberCodes;
      const valueAt = colon(nameEnd);
      const isEscapedName = escapes !== before;
      noMark();
      const beforeValue = escapes;
      const to = value(valueAt, aroundValue);
      addMember(code, at, nameEnd, valueAt, to);
      isOrdinary = isOrdinary && !isEscapedName && isFirst(code);
      if (code < columnCodes) {
        isOrdinary = isOrdinary && escapes === beforeValue;
        setValue(code, valueAt, to);
      } else {
        if (code === memberCodes) {
          others += 1;
          isOrdinary = isOrdinary && others <= othersMost && isNew(firstMember);
        } else {
          setValue(code, valueAt, to);
        }
        hasMeasures = hasMeasures || mayMeasure(code, valueAt, to);
        const index = memberCount - firstMember;
        if (keptLast === 0) {
          keptAt = at;
        } else if (keptLast + 1 !== index) {
          isOrdinary = false;
        }
        keptLast = index;
        keptTo = to;
      }
      at = space(to);
      const isMore = takesComma(at, closeBrace);
      at += 1;
      if (!isMore) {
        break;
      }
      at = space(at);
    }
  }
  put(field.memberCount, memberCount - firstMember);
  put(field.hasMeasures, <usize>hasMeasures);
  if (keptLast !== 0) {
    putPlace(field.keptFrom, keptAt);
    putPlace(field.keptTo, keptTo);
  }
  put(field.kind, isOrdinary && check() ? kind.ordinary : kind.unusual);
  return at;
}

/** Whether the run had no member of that code so far. */
function isFirst(code: usize): bool {
  if (code === memberCodes) {
    return true;
  }
  const bit: u64 = (<u64>1) << (<u64>code);
  const isAgain = (seen & bit) !== 0;
  seen |= bit;
  return !isAgain;
}

/** Whether no other member of the run has the name of the last, which has no code. */
function isNew(firstMember: usize): bool {
  const last = memberCount - 1;
  const at = nameOf(last);
  const size = nameEndOf(last) - at;
  for (let index = firstMember; index < last; index++) {
    if (
      codeOf(index) === memberCodes &&
      nameEndOf(index) - nameOf(index) === size &&
      same(nameOf(index), at, size)
    ) {
      return false;
    }
  }
  return true;
}

/** Whether something that is counted may stand in a member; that is read the other way. */
function mayMeasure(code: usize, from: usize, to: usize): bool {
  return code === member.events
    ? load<u8>(from) === openBracket && to - from > 2
    : hasMark && (code === member.outputs || code === member.extra);
}

/** Checks what the rules of the wire say of a post. */
function check(): bool {
  return checkPlace() && checkColumns() && checkTimes();
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

function checkColumns(): bool {
  put(field.hasError, <usize>hasError());
  putSource();
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
function putSource(): void {
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
  put(field.source, runCount);
  store<u32>(sources + 4 * (sourceCount % sourcesMost), <u32>runCount);
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
