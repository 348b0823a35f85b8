// The grammar of JSON (RFC 8259), walked over: what server/src/bodies/json-skip.ts does, 16 bytes at a time. Each function takes
// the place where something begins and gives the place behind it. What breaks the grammar, or is too deep, ends the walk
// by a trap: the other way then says what is wrong. Behind the text there are zeros, which no value goes on with.
import { depthMax } from "./layout";
import { closers } from "./memory";

const quote: u8 = 0x22;
const backslash: u8 = 0x5c;
const comma: u32 = 0x2c;
const colonByte: u32 = 0x3a;
const openBrace: u32 = 0x7b;
const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;

/** How many escapes were met. */
export let escapes: u32 = 0;
/** Whether a name was met that may belong to what is counted of a run: see usage-places.ts. */
export let hasMark: bool = false;

export function noMark(): void {
  hasMark = false;
}

export function space(from: usize): usize {
  let at = from;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
      return at;
    }
    at += 1;
  }
}

/** One value, which stands within `outer` levels. */
export function value(from: usize, outer: u32): usize {
  let at = from;
  let depth: u32 = 0;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte === quote) {
      at = text(at);
    } else if (byte === openBrace || byte === openBracket) {
      const closer = byte + 2;
      at = space(at + 1);
      if (load<u8>(at) !== closer) {
        if (depth + 1 + outer > depthMax) {
          unreachable();
        }
        store<u8>(closers + depth, closer);
        depth += 1;
        at = closer === closeBrace ? member(at) : at;
        continue;
      }
      at += 1;
    } else {
      at = scalar(at, byte);
    }
    // On to the next member, or out of all that ends here.
    while (true) {
      if (depth === 0) {
        return at;
      }
      at = space(at);
      const closer: u32 = load<u8>(closers + depth - 1);
      if (takesComma(at, closer)) {
        at = space(at + 1);
        at = closer === closeBrace ? member(at) : at;
        break;
      }
      at += 1;
      depth -= 1;
    }
  }
}

/** Whether a comma stands there. */
export function takesComma(at: usize, closer: u32): bool {
  const byte: u32 = load<u8>(at);
  if (byte === comma) {
    return true;
  }
  if (byte !== closer) {
    unreachable();
  }
  return false;
}

/** A member's name, the colon and the space around it. */
function member(from: usize): usize {
  const before = escapes;
  const end = text(from);
  hasMark = hasMark || escapes !== before || endsWithMark(end);
  return colon(end);
}

/** `_metadata"`, `_usage"` and `Usage"`: none has a quote before its end, so none begins before the name. */
function endsWithMark(end: usize): bool {
  const last = load<u64>(end - 8);
  return (
    last >> 16 === 0x2265_6761_7355 ||
    last >> 8 === 0x22_6567_6173_755f ||
    (last === 0x2261_7461_6461_7465 && load<u16>(end - 10) === 0x6d5f)
  );
}

/** From behind a member's name to its value. */
export function colon(from: usize): usize {
  const at = space(from);
  if (load<u8>(at) !== colonByte) {
    unreachable();
  }
  return space(at + 1);
}

/** A string, from its first quote on. */
export function text(from: usize): usize {
  if (load<u8>(from) !== quote) {
    unreachable();
  }
  let at = from + 1;
  while (true) {
    const found = i8x16.bitmask(special(v128.load(at)));
    if (found === 0) {
      at += 16;
      continue;
    }
    at += ctz<i32>(found);
    const byte: u32 = load<u8>(at);
    if (byte === quote) {
      return at + 1;
    }
    if (byte !== backslash) {
      unreachable();
    }
    at = escape(at);
  }
}

function special(bytes: v128): v128 {
  const isQuote = i8x16.eq(bytes, i8x16.splat(quote));
  const isSlash = i8x16.eq(bytes, i8x16.splat(backslash));
  return v128.or(v128.or(isQuote, isSlash), i8x16.lt_u(bytes, i8x16.splat(0x20)));
}

function escape(at: usize): usize {
  escapes += 1;
  switch (load<u8>(at + 1)) {
    case quote:
    case backslash:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 2;
    case 0x75:
      for (let digit: usize = 2; digit < 6; digit++) {
        if (!isHex(load<u8>(at + digit))) {
          unreachable();
        }
      }
      return at + 6;
    default:
      unreachable();
  }
  return 0;
}

function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6;
}

function scalar(at: usize, byte: u32): usize {
  const word = load<u32>(at);
  if (word === 0x6c6c_756e || word === 0x6575_7274) {
    return at + 4;
  }
  if (byte === 0x66) {
    if (load<u32>(at + 1) !== 0x6573_6c61) {
      unreachable();
    }
    return at + 5;
  }
  return number(at);
}

function number(from: usize): usize {
  let at = load<u8>(from) === 0x2d ? from + 1 : from;
  at = load<u8>(at) === 0x30 ? at + 1 : digits(at);
  if (load<u8>(at) === 0x2e) {
    at = digits(at + 1);
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    const sign: u32 = load<u8>(at + 1);
    at = digits(at + (sign === 0x2b || sign === 0x2d ? 2 : 1));
  }
  return at;
}

function digits(from: usize): usize {
  let at = from;
  while (<u32>load<u8>(at) - 0x30 < 10) {
    at += 1;
  }
  if (at === from) {
    unreachable();
  }
  return at;
}
