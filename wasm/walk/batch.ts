// The body of `POST /runs/batch`: one walk through all of it, which tells where each run has what, and whether a post is an
// ordinary one, of which nothing is left to check. server/src/runs/ingest/batch-walk.ts reads the tables.
import { noSeconds } from "./forms";
import { colon, escapes, space, takesComma, text, value } from "./json";
import { field, kind, limit, memberCodes } from "./layout";
import {
  addMember,
  bodyAt,
  entries,
  memberCount,
  members,
  forgetMembers,
  openEntry,
  packed,
  put,
  putPlace,
  texts,
} from "./memory";
import { codeOfName, namePlace } from "./names";
import { noSources } from "./post";
import { run } from "./run";
import { noTexts, packedSize, textCount } from "./texts";

export { know } from "./names";

const quote: u8 = 0x22;
const openBrace: u32 = 0x7b;
const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;
const closeBracket: u32 = 0x5d;
const nullWord: u32 = 0x6c6c_756e;
/** Zeros behind the body, and bytes that may be read there. */
const margin: usize = 64;
/** Levels around a run. */
const aroundRun: u32 = 1;

export const bodyPlace = bodyAt;
export const entriesPlace = entries;
export const membersPlace = members;
export const textsPlace = texts;
export const packedPlace = packed;
export const nameAt = namePlace;
export const marginBytes = margin;

/** Runs of each list, and where its first is. */
export let postCount: usize = 0;
export let postFirst: usize = 0;
export let patchCount: usize = 0;
export let patchFirst: usize = 0;
let runCount: usize = 0;

/** So many texts were told. */
export function textsTold(): usize {
  return textCount;
}

/** So many bytes of them are packed. */
export function bytesPacked(): usize {
  return packedSize;
}

/** Walks over a body that is any one value. A trap says that it is none. */
export function walkValue(size: usize): void {
  endBody(size);
  if (space(value(space(bodyAt), 0)) !== bodyAt + size) {
    unreachable();
  }
}

/**
 * Puts the members of an object, whose place is in a body that was walked over, behind those in their table, until it is called
 * again; returns how many. A trap says that there is no room.
 */
export function listMembers(place: usize): usize {
  const first = memberCount;
  let at = space(bodyAt + place + 1);
  while (load<u8>(at) === quote) {
    const before = escapes;
    const nameEnd = text(at);
    const code = escapes === before ? codeOfName(at + 1, nameEnd - at - 2) : memberCodes;
    const valueAt = colon(nameEnd);
    const to = value(valueAt, 0);
    addMember(code, at, nameEnd, valueAt, to);
    at = space(to);
    at = load<u8>(at) === closeBrace ? at : space(at + 1);
  }
  const count = memberCount - first;
  forgetMembers(first);
  return count;
}

/** How many members the runs have. */
export function membersTold(): usize {
  return memberCount;
}

/** Zeros behind the body, with which no value goes on. */
function endBody(size: usize): void {
  memory.fill(bodyAt + size, 0, margin);
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
  endBody(size);
  noSeconds();
  noTexts();
  forgetMembers(0);
  runCount = 0;
  noSources();
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
    to = run(from, runCount, isPost);
  } else {
    put(field.kind, kind.other);
    to = value(from, aroundRun);
  }
  runCount += 1;
  return to;
}
