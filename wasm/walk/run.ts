// One run of a batch: where its members stand, what of them is kept, and whether it is an ordinary post.
import { colon, escapes, hasMark, noMark, space, takesComma, text, value } from "./json";
import { columnCodes, field, kind, member, memberCodes } from "./layout";
import {
  addMember,
  codeOf,
  memberCount,
  nameEndOf,
  nameOf,
  noValues,
  put,
  putPlace,
  setValue,
} from "./memory";
import { codeOfName } from "./names";
import { isOrdinaryPost } from "./post";
import { same } from "./texts";

const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;
/** Levels around the values of its members. */
const aroundValue: u32 = 2;
/** Members with names that are not foreseen; with more it is no ordinary one. */
const othersMost: usize = 8;

/** Bits of the codes of members that it had so far. */
let seen: u64 = 0;

/** Walks over a run, an object that begins there, and fills the entry that is open for it. Returns the place behind it. */
export function run(from: usize, entry: usize, isPost: bool): usize {
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
  put(field.kind, isOrdinary && isOrdinaryPost(entry) ? kind.ordinary : kind.unusual);
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
