// Indexes the body of `POST /runs/batch` in one pass: finds the runs and the positions of their
// members, and checks that the body is JSON. It does not check whether the runs are valid.
// server/src/runs/ingest/batch-walk.ts reads the tables. A trap means that this module can't index
// the body: the TypeScript indexer then does it, or reports the error.
import { escapes, hasComma, skipColon, skipSpace, skipText, skipValue } from "./json";
import { notAnObject, unknownNameCode } from "./layout";
import {
  addMember,
  addRun,
  bodyAt,
  clearTables,
  memberCount,
  members,
  runCount,
  runs,
  truncateMembers,
} from "./memory";
import { codeOfName } from "./names";

export { nameAddress, registerName } from "./names";

const quote: u8 = 0x22;
const openBrace: u32 = 0x7b;
const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;
const closeBracket: u32 = 0x5d;
const nullWord: u32 = 0x6c6c_756e;
/** Number of zero bytes after the body, which may be read. */
const margin: usize = 64;
/** Nesting depth of a run in the body, and of the values of its members. */
const aroundRun: u32 = 1;
const aroundValue: u32 = 2;

export const bodyAddress = bodyAt;
export const runsAddress = runs;
export const membersAddress = members;
export const marginBytes = margin;

/** Number of runs in each list, and the index of its first run. */
export let postCount: usize = 0;
export let postFirst: usize = 0;
export let patchCount: usize = 0;
export let patchFirst: usize = 0;

/** Checks a body that is a single JSON value. A trap means that it is not valid. */
export function walkValue(size: usize): void {
  endBody(size);
  if (skipSpace(skipValue(skipSpace(bodyAt), 0)) !== bodyAt + size) {
    unreachable();
  }
}

/**
 * Adds the members of an object to the members table and returns their number. `offset` is the
 * position of the object in a body that was walked before. The next call overwrites them. A trap means
 * that the table is full.
 */
export function listMembers(offset: usize): usize {
  const first = memberCount;
  indexMembers(bodyAt + offset, 0);
  const count = memberCount - first;
  truncateMembers(first);
  return count;
}

/** Returns the number of members of all runs. */
export function countMembers(): usize {
  return memberCount;
}

/** Writes zeros after the body, so that no value continues there. */
function endBody(size: usize): void {
  memory.fill(bodyAt + size, 0, margin);
}

/** Walks over a body of `size` bytes. A trap means that the TypeScript indexer must handle it. */
export function walk(size: usize): void {
  endBody(size);
  clearTables();
  postCount = 0;
  postFirst = 0;
  patchCount = 0;
  patchFirst = 0;
  let at = skipSpace(bodyAt);
  expectByte(at, openBrace);
  at = skipSpace(at + 1);
  if (load<u8>(at) === closeBrace) {
    at += 1;
  } else {
    while (true) {
      at = skipSpace(indexList(at));
      const isMore = hasComma(at, closeBrace);
      at += 1;
      if (!isMore) {
        break;
      }
      at = skipSpace(at);
    }
  }
  if (skipSpace(at) !== bodyAt + size) {
    unreachable();
  }
}

function expectByte(at: usize, byte: u32): void {
  if (load<u8>(at) !== byte) {
    unreachable();
  }
}

/** Indexes the runs of one member of the body, if it is `post` or `patch`. */
function indexList(nameAt: usize): usize {
  const before = escapes;
  const nameEnd = skipText(nameAt);
  const from = skipColon(nameEnd);
  const size = nameEnd - nameAt;
  const isPost = size === 6 && load<u32>(nameAt + 1) === 0x7473_6f70;
  const isPatch =
    size === 7 && load<u32>(nameAt + 1) === 0x6374_6170 && load<u8>(nameAt + 5) === 0x68;
  if (!isPost && !isPatch) {
    // The name may be `post` or `patch`, written with escapes.
    if (escapes !== before) {
      unreachable();
    }
    return skipValue(from, 0);
  }
  // With duplicate names the last one is used, which this module does not support.
  if ((isPost ? postCount : patchCount) > 0) {
    unreachable();
  }
  if (load<u32>(from) === nullWord) {
    return from + 4;
  }
  const first = runCount;
  const to = indexItems(from);
  if (isPost) {
    postFirst = first;
    postCount = runCount - first;
  } else {
    patchFirst = first;
    patchCount = runCount - first;
  }
  return to;
}

function indexItems(from: usize): usize {
  expectByte(from, openBracket);
  let at = skipSpace(from + 1);
  if (load<u8>(at) === closeBracket) {
    return at + 1;
  }
  while (true) {
    at = skipSpace(indexItem(at));
    if (!hasComma(at, closeBracket)) {
      return at + 1;
    }
    at = skipSpace(at + 1);
  }
}

function indexItem(from: usize): usize {
  if (load<u8>(from) !== openBrace) {
    addRun(notAnObject, notAnObject);
    return skipValue(from, aroundRun);
  }
  const first = memberCount;
  const to = indexMembers(from, aroundValue);
  addRun(first, memberCount);
  return to;
}

/** Adds the members of the object at `from` to the table. `outer` is the nesting depth of their values. */
function indexMembers(from: usize, outer: u32): usize {
  let at = skipSpace(from + 1);
  if (load<u8>(at) === closeBrace) {
    return at + 1;
  }
  while (true) {
    const before = escapes;
    const nameEnd = skipText(at);
    const code = escapes === before ? codeOfName(at + 1, nameEnd - at - 2) : unknownNameCode;
    const valueAt = skipColon(nameEnd);
    const to = skipValue(valueAt, outer);
    addMember(code, at, nameEnd, valueAt, to);
    at = skipSpace(to);
    if (!hasComma(at, closeBrace)) {
      return at + 1;
    }
    at = skipSpace(at + 1);
  }
}
