// Layout of the module's memory: tables, then the body. Offsets in the tables are relative to the
// start of the body.
import { depthMax, entryWords, limit, memberCodes, memberWords, textWords } from "./layout";

const wordBytes: u32 = 4;
export const entryBytes: usize = <usize>(entryWords * wordBytes);

/** The closing character of each open level. */
export const closers: usize = memory.data(depthMax);
/** One entry for each run, in the order of the body. */
export const entries: usize = memory.data(limit.entries * entryWords * 4, 8);
/** The members of the runs, in the same order. */
export const members: usize = memory.data(limit.members * memberWords * 4, 4);
/** Distinct texts of columns. */
export const texts: usize = memory.data(limit.texts * textWords * 4, 4);
/** Concatenated ASCII texts, which are decoded together. */
export const packed: usize = memory.data(limit.packedBytes + 64, 4);
/** Indexed by code: start and end of the value of the current run's member. */
const values: usize = memory.data(memberCodes * 8, 4);
export const bodyAt: usize = (__heap_base + 15) & ~15;

export let memberCount: usize = 0;
let currentEntry: usize = 0;

/** Removes all members except the first `count`. */
export function truncateMembers(count: usize): void {
  memberCount = count;
}

/** Clears an entry and selects it for the following calls of `put`. */
export function openEntry(index: usize): void {
  currentEntry = entries + index * entryBytes;
  memory.fill(currentEntry, 0, entryBytes);
}

export function put(field: usize, value: usize): void {
  store<u32>(currentEntry + field * wordBytes, <u32>value);
}

/** Stores an address in the body as an offset. */
export function putOffset(field: usize, at: usize): void {
  put(field, at - bodyAt);
}

export function putDouble(field: usize, value: f64): void {
  store<f64>(currentEntry + field * wordBytes, value);
}

export function addMember(
  code: usize,
  nameAt: usize,
  nameEnd: usize,
  from: usize,
  to: usize,
): void {
  if (memberCount === limit.members) {
    unreachable();
  }
  const member = members + memberCount * memberWords * wordBytes;
  store<u32>(member, <u32>code);
  store<u32>(member, <u32>(nameAt - bodyAt), 4);
  store<u32>(member, <u32>(nameEnd - bodyAt), 8);
  store<u32>(member, <u32>(from - bodyAt), 12);
  store<u32>(member, <u32>(to - bodyAt), 16);
  memberCount += 1;
}

/** Address of the start of a member's name. */
export function nameStartOf(index: usize): usize {
  return <usize>load<u32>(members + index * memberWords * wordBytes, 4) + bodyAt;
}

/** Address of the end of a member's name. */
export function nameEndOf(index: usize): usize {
  return <usize>load<u32>(members + index * memberWords * wordBytes, 8) + bodyAt;
}

export function codeOf(index: usize): usize {
  return load<u32>(members + index * memberWords * wordBytes);
}

export function clearValues(): void {
  memory.fill(values, 0, memberCodes * 8);
}

export function setValue(code: usize, from: usize, to: usize): void {
  store<u32>(values + 8 * code, <u32>from);
  store<u32>(values + 8 * code, <u32>to, 4);
}

/** Address of the start of a member's value; 0 if the run has no such member. */
export function valueStartOf(code: usize): usize {
  return load<u32>(values + 8 * code);
}

export function valueEndOf(code: usize): usize {
  return load<u32>(values + 8 * code, 4);
}

/** Stores the position of a text. */
export function setText(index: usize, at: usize, size: usize): void {
  const text = texts + index * textWords * wordBytes;
  store<u32>(text, <u32>(at - bodyAt));
  store<u32>(text, <u32>size, 4);
}

/** Stores the offset of a text among the packed texts. */
export function setPacked(index: usize, offset: usize): void {
  store<u32>(texts + index * textWords * wordBytes, <u32>offset, 8);
}

export function textAt(index: usize): usize {
  return <usize>load<u32>(texts + index * textWords * wordBytes) + bodyAt;
}

export function textSize(index: usize): usize {
  return load<u32>(texts + index * textWords * wordBytes, 4);
}
