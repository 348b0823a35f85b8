// Parses one run of a batch: the positions of its members, which of them are stored as JSON, and
// whether it is a post of the common form.
import {
  skipColon,
  escapes,
  hasUsageName,
  resetUsageName,
  skipSpace,
  hasComma,
  skipText,
  skipValue,
} from "./json";
import { columnCodes, field, kind, member, memberCodes } from "./layout";
import {
  addMember,
  codeOf,
  memberCount,
  nameEndOf,
  nameStartOf,
  clearValues,
  put,
  putOffset,
  setValue,
} from "./memory";
import { codeOfName } from "./names";
import { hasCommonForm } from "./post";
import { hasSameBytes } from "./texts";

const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;
/** Nesting depth of the members' values in the body. */
const aroundValue: u32 = 2;
/** Maximum number of members with unknown names. A run with more does not have the common form. */
const maxUnknownNames: usize = 8;

/** Bit set of the codes of the members found so far. */
let seen: u64 = 0;

/**
 * Parses a run, an object that begins at `from`, and fills the current entry. Returns the address
 * after it.
 */
export function parseRun(from: usize, entry: usize, isPost: bool): usize {
  const firstMember = memberCount;
  put(field.members, firstMember);
  seen = 0;
  clearValues();
  let isCommonForm = isPost;
  let hasMeasures = false;
  let unknownNames: usize = 0;
  let keptAt: usize = 0;
  let keptTo: usize = 0;
  /** Number of the last member that is stored as JSON, counted from 1. */
  let keptLast: usize = 0;
  let at = skipSpace(from + 1);
  if (load<u8>(at) === closeBrace) {
    at += 1;
  } else {
    while (true) {
      const before = escapes;
      const nameEnd = skipText(at);
      const size = nameEnd - at - 2;
      const code: usize = escapes === before ? codeOfName(at + 1, size) : memberCodes;
      const valueAt = skipColon(nameEnd);
      const isEscapedName = escapes !== before;
      resetUsageName();
      const beforeValue = escapes;
      const to = skipValue(valueAt, aroundValue);
      addMember(code, at, nameEnd, valueAt, to);
      isCommonForm = isCommonForm && !isEscapedName && isFirst(code);
      if (code < columnCodes) {
        isCommonForm = isCommonForm && escapes === beforeValue;
        setValue(code, valueAt, to);
      } else {
        if (code === memberCodes) {
          unknownNames += 1;
          isCommonForm = isCommonForm && unknownNames <= maxUnknownNames && isNewName(firstMember);
        } else {
          setValue(code, valueAt, to);
        }
        hasMeasures = hasMeasures || mayHaveUsage(code, valueAt, to);
        const index = memberCount - firstMember;
        if (keptLast === 0) {
          keptAt = at;
        } else if (keptLast + 1 !== index) {
          isCommonForm = false;
        }
        keptLast = index;
        keptTo = to;
      }
      at = skipSpace(to);
      const isMore = hasComma(at, closeBrace);
      at += 1;
      if (!isMore) {
        break;
      }
      at = skipSpace(at);
    }
  }
  put(field.memberCount, memberCount - firstMember);
  put(field.hasMeasures, <usize>hasMeasures);
  if (keptLast !== 0) {
    putOffset(field.keptFrom, keptAt);
    putOffset(field.keptTo, keptTo);
  }
  put(field.kind, isCommonForm && hasCommonForm(entry) ? kind.ordinary : kind.unusual);
  return at;
}

/** Whether the run had no member with this code before. */
function isFirst(code: usize): bool {
  if (code === memberCodes) {
    return true;
  }
  const bit: u64 = (<u64>1) << (<u64>code);
  const isDuplicate = (seen & bit) !== 0;
  seen |= bit;
  return !isDuplicate;
}

/** Whether no earlier member of the run has the same name as the last one, which has no code. */
function isNewName(firstMember: usize): bool {
  const last = memberCount - 1;
  const at = nameStartOf(last);
  const size = nameEndOf(last) - at;
  for (let index = firstMember; index < last; index++) {
    if (
      codeOf(index) === memberCodes &&
      nameEndOf(index) - nameStartOf(index) === size &&
      hasSameBytes(nameStartOf(index), at, size)
    ) {
      return false;
    }
  }
  return true;
}

/** Whether a member may contain token usage, which the TypeScript parser reads. */
function mayHaveUsage(code: usize, from: usize, to: usize): bool {
  return code === member.events
    ? load<u8>(from) === openBracket && to - from > 2
    : hasUsageName && (code === member.outputs || code === member.extra);
}
