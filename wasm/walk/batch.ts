// Parses the body of `POST /runs/batch` in one pass. The result is a table with the positions of
// each run's members, and whether a post has the common form, for which nothing is left to check.
// server/src/runs/ingest/batch-walk.ts reads the tables. A trap means that this module can't handle
// the body: the TypeScript parser then parses it and reports errors.
import { resetSeconds } from "./forms";
import { skipColon, escapes, skipSpace, hasComma, skipText, skipValue } from "./json";
import { field, kind, limit, memberCodes } from "./layout";
import {
  addMember,
  bodyAt,
  entries,
  memberCount,
  members,
  truncateMembers,
  openEntry,
  packed,
  put,
  putOffset,
  texts,
} from "./memory";
import { codeOfName, namePlace } from "./names";
import { resetSources } from "./post";
import { parseRun } from "./run";
import { resetTexts, packedSize, textCount } from "./texts";

export { know } from "./names";

const quote: u8 = 0x22;
const openBrace: u32 = 0x7b;
const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;
const closeBracket: u32 = 0x5d;
const nullWord: u32 = 0x6c6c_756e;
/** Number of zero bytes after the body, which may be read. */
const margin: usize = 64;
/** Nesting depth of a run in the body. */
const aroundRun: u32 = 1;

export const bodyPlace = bodyAt;
export const entriesPlace = entries;
export const membersPlace = members;
export const textsPlace = texts;
export const packedPlace = packed;
export const nameAt = namePlace;
export const marginBytes = margin;

/** Number of runs in each list, and the index of its first run. */
export let postCount: usize = 0;
export let postFirst: usize = 0;
export let patchCount: usize = 0;
export let patchFirst: usize = 0;
let runCount: usize = 0;

/** Number of texts in the table. */
export function textsTold(): usize {
  return textCount;
}

/** Number of bytes of the packed texts. */
export function bytesPacked(): usize {
  return packedSize;
}

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
  let at = skipSpace(bodyAt + offset + 1);
  while (load<u8>(at) === quote) {
    const before = escapes;
    const nameEnd = skipText(at);
    const code = escapes === before ? codeOfName(at + 1, nameEnd - at - 2) : memberCodes;
    const valueAt = skipColon(nameEnd);
    const to = skipValue(valueAt, 0);
    addMember(code, at, nameEnd, valueAt, to);
    at = skipSpace(to);
    at = load<u8>(at) === closeBrace ? at : skipSpace(at + 1);
  }
  const count = memberCount - first;
  truncateMembers(first);
  return count;
}

/** Number of members of all runs. */
export function membersTold(): usize {
  return memberCount;
}

/** Writes zeros after the body, so that no value continues there. */
function endBody(size: usize): void {
  memory.fill(bodyAt + size, 0, margin);
}

/** Walks over a body of `size` bytes. A trap means that the TypeScript parser must handle it. */
export function walk(size: usize): void {
  reset(size);
  let at = skipSpace(bodyAt);
  expectByte(at, openBrace);
  at = skipSpace(at + 1);
  if (load<u8>(at) === closeBrace) {
    at += 1;
  } else {
    while (true) {
      at = skipSpace(parseTopMember(at));
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

function reset(size: usize): void {
  endBody(size);
  resetSeconds();
  resetTexts();
  truncateMembers(0);
  runCount = 0;
  resetSources();
  postCount = 0;
  postFirst = 0;
  patchCount = 0;
  patchFirst = 0;
}

function expectByte(at: usize, byte: u32): void {
  if (load<u8>(at) !== byte) {
    unreachable();
  }
}

/** Parses one member of the body. */
function parseTopMember(nameAt: usize): usize {
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
  const to = parseList(from, isPost);
  if (isPost) {
    postFirst = first;
    postCount = runCount - first;
  } else {
    patchFirst = first;
    patchCount = runCount - first;
  }
  return to;
}

function parseList(from: usize, isPost: bool): usize {
  expectByte(from, openBracket);
  let at = skipSpace(from + 1);
  if (load<u8>(at) === closeBracket) {
    return at + 1;
  }
  while (true) {
    at = skipSpace(parseItem(at, isPost));
    if (!hasComma(at, closeBracket)) {
      return at + 1;
    }
    at = skipSpace(at + 1);
  }
}

function parseItem(from: usize, isPost: bool): usize {
  if (runCount === limit.entries) {
    unreachable();
  }
  openEntry(runCount);
  putOffset(field.from, from);
  let to: usize = 0;
  if (load<u8>(from) === openBrace) {
    to = parseRun(from, runCount, isPost);
  } else {
    put(field.kind, kind.other);
    to = skipValue(from, aroundRun);
  }
  runCount += 1;
  return to;
}
