// What lies where in the module's memory: tables first, behind them the body that is walked over. Places that go into a
// table are counted from the body's begin.
import { depthMax, entryWords, limit, memberCodes, memberWords, textWords } from "./layout";

const wordBytes: u32 = 4;
export const entryBytes: usize = <usize>(entryWords * wordBytes);

/** One closer for each level. */
export const closers: usize = memory.data(depthMax);
/** The runs, as they stand one after the other. */
export const entries: usize = memory.data(limit.entries * entryWords * 4, 8);
/** Their members, likewise. */
export const members: usize = memory.data(limit.members * memberWords * 4, 4);
/** Texts of columns, each once. */
export const texts: usize = memory.data(limit.texts * textWords * 4, 4);
/** ASCII texts end to end, which become one text at once. */
export const packed: usize = memory.data(limit.packedBytes + 64, 4);
/** By code: where the value of the run's member begins and ends. */
const values: usize = memory.data(memberCodes * 8, 4);
export const bodyAt: usize = (__heap_base + 15) & ~15;

export let memberCount: usize = 0;
let run: usize = 0;

/** All but the first. */
export function forgetMembers(count: usize): void {
  memberCount = count;
}

/** The entry that words are put into from here on. */
export function openEntry(index: usize): void {
  run = entries + index * entryBytes;
  memory.fill(run, 0, entryBytes);
}

export function put(field: usize, value: usize): void {
  store<u32>(run + field * wordBytes, <u32>value);
}

/** A place in the body. */
export function putPlace(field: usize, at: usize): void {
  put(field, at - bodyAt);
}

export function putDouble(field: usize, value: f64): void {
  store<f64>(run + field * wordBytes, value);
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

/** Where the name begins, and ends, of a member that was added. */
export function nameOf(index: usize): usize {
  return <usize>load<u32>(members + index * memberWords * wordBytes, 4) + bodyAt;
}

export function nameEndOf(index: usize): usize {
  return <usize>load<u32>(members + index * memberWords * wordBytes, 8) + bodyAt;
}

export function codeOf(index: usize): usize {
  return load<u32>(members + index * memberWords * wordBytes);
}

export function noValues(): void {
  memory.fill(values, 0, memberCodes * 8);
}

export function setValue(code: usize, from: usize, to: usize): void {
  store<u32>(values + 8 * code, <u32>from);
  store<u32>(values + 8 * code, <u32>to, 4);
}

/** 0 where the run has no such member. */
export function fromOf(code: usize): usize {
  return load<u32>(values + 8 * code);
}

export function toOf(code: usize): usize {
  return load<u32>(values + 8 * code, 4);
}

/** A text of the table, and where it is among the packed ones. */
export function setText(index: usize, at: usize, size: usize): void {
  const text = texts + index * textWords * wordBytes;
  store<u32>(text, <u32>(at - bodyAt));
  store<u32>(text, <u32>size, 4);
}

export function setPacked(index: usize, place: usize): void {
  store<u32>(texts + index * textWords * wordBytes, <u32>place, 8);
}

export function textAt(index: usize): usize {
  return <usize>load<u32>(texts + index * textWords * wordBytes) + bodyAt;
}

export function textSize(index: usize): usize {
  return load<u32>(texts + index * textWords * wordBytes, 4);
}
