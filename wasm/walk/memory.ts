// Layout of the module's memory: tables, then the body. Offsets in the tables are relative to the
// start of the body.
import { depthMax, rowLimits, wordsPerMember, wordsPerRun } from "./layout";

const wordBytes: u32 = 4;
const runBytes: usize = <usize>(wordsPerRun * wordBytes);
const memberBytes: usize = <usize>(wordsPerMember * wordBytes);

/** The closing character of each open level. */
export const closers: usize = memory.data(depthMax);
/** One row for each run, in the order of the body. */
export const runs: usize = memory.data(rowLimits.runs * wordsPerRun * 4, 4);
/** The members of the runs, in the same order. */
export const members: usize = memory.data(rowLimits.members * wordsPerMember * 4, 4);
export const bodyAt: usize = (__heap_base + 15) & ~15;

export let runCount: usize = 0;
export let memberCount: usize = 0;

/** Empties both tables. */
export function clearTables(): void {
  runCount = 0;
  memberCount = 0;
}

/** Removes all members except the first `count`. */
export function truncateMembers(count: usize): void {
  memberCount = count;
}

/** Adds a run whose members are the rows from `first` to `end`. A trap means that the table is full. */
export function addRun(first: usize, end: usize): void {
  if (runCount === rowLimits.runs) {
    unreachable();
  }
  const run = runs + runCount * runBytes;
  store<u32>(run, <u32>first);
  store<u32>(run, <u32>end, 4);
  runCount += 1;
}

/** Adds a member, given by addresses. A trap means that the table is full. */
export function addMember(
  code: usize,
  nameAt: usize,
  nameEnd: usize,
  from: usize,
  to: usize,
): void {
  if (memberCount === rowLimits.members) {
    unreachable();
  }
  const member = members + memberCount * memberBytes;
  store<u32>(member, <u32>code);
  store<u32>(member, <u32>(nameAt - bodyAt), 4);
  store<u32>(member, <u32>(nameEnd - bodyAt), 8);
  store<u32>(member, <u32>(from - bodyAt), 12);
  store<u32>(member, <u32>(to - bodyAt), 16);
  memberCount += 1;
}
