// Validates JSON (RFC 8259) as server/src/bodies/json-skip.ts does, 16 bytes at a time. Each
// function takes the address where an element begins and returns the address after it. A syntax
// error, or nesting that is too deep, causes a trap: the TypeScript indexer then reports the error.
// The text is followed by zeros, which end every value.
import { depthMax } from "./layout";
import { closers } from "./memory";

const quote: u8 = 0x22;
const backslash: u8 = 0x5c;
const comma: u32 = 0x2c;
const colonCharacter: u32 = 0x3a;
const openBrace: u32 = 0x7b;
const closeBrace: u32 = 0x7d;
const openBracket: u32 = 0x5b;

/** Number of escapes found so far. */
export let escapes: u32 = 0;

/** Skips whitespace. */
export function skipSpace(from: usize): usize {
  let at = from;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
      return at;
    }
    at += 1;
  }
}

/** Skips one value, which is nested in `outer` levels. */
export function skipValue(from: usize, outer: u32): usize {
  let at = from;
  let depth: u32 = 0;
  while (true) {
    const byte: u32 = load<u8>(at);
    if (byte === quote) {
      at = skipText(at);
    } else if (byte === openBrace || byte === openBracket) {
      const closer = byte + 2;
      at = skipSpace(at + 1);
      if (load<u8>(at) !== closer) {
        if (depth + 1 + outer > depthMax) {
          unreachable();
        }
        store<u8>(closers + depth, closer);
        depth += 1;
        at = closer === closeBrace ? skipName(at) : at;
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(at, byte);
    }
    // Continue with the next member, or leave all objects and arrays that end here.
    while (true) {
      if (depth === 0) {
        return at;
      }
      at = skipSpace(at);
      const closer: u32 = load<u8>(closers + depth - 1);
      if (hasComma(at, closer)) {
        at = skipSpace(at + 1);
        at = closer === closeBrace ? skipName(at) : at;
        break;
      }
      at += 1;
      depth -= 1;
    }
  }
}

/** Whether there is a comma at `at`. Anything other than a comma or `closer` causes a trap. */
export function hasComma(at: usize, closer: u32): bool {
  const byte: u32 = load<u8>(at);
  if (byte === comma) {
    return true;
  }
  if (byte !== closer) {
    unreachable();
  }
  return false;
}

/** Skips a member's name, the colon, and the spaces around it. */
function skipName(from: usize): usize {
  return skipColon(skipText(from));
}

/** Skips from the end of a member's name to its value. */
export function skipColon(from: usize): usize {
  const at = skipSpace(from);
  if (load<u8>(at) !== colonCharacter) {
    unreachable();
  }
  return skipSpace(at + 1);
}

/** Skips a string that begins with a quote. */
export function skipText(from: usize): usize {
  if (load<u8>(from) !== quote) {
    unreachable();
  }
  let at = from + 1;
  while (true) {
    const found = i8x16.bitmask(markSpecialBytes(v128.load(at)));
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
    at = skipEscape(at);
  }
}

function markSpecialBytes(bytes: v128): v128 {
  const isQuote = i8x16.eq(bytes, i8x16.splat(quote));
  const isSlash = i8x16.eq(bytes, i8x16.splat(backslash));
  return v128.or(v128.or(isQuote, isSlash), i8x16.lt_u(bytes, i8x16.splat(0x20)));
}

function skipEscape(at: usize): usize {
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

function skipScalar(at: usize, byte: u32): usize {
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
  return skipNumber(at);
}

function skipNumber(from: usize): usize {
  let at = load<u8>(from) === 0x2d ? from + 1 : from;
  at = load<u8>(at) === 0x30 ? at + 1 : skipDigits(at);
  if (load<u8>(at) === 0x2e) {
    at = skipDigits(at + 1);
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    const sign: u32 = load<u8>(at + 1);
    at = skipDigits(at + (sign === 0x2b || sign === 0x2d ? 2 : 1));
  }
  return at;
}

function skipDigits(from: usize): usize {
  let at = from;
  while (<u32>load<u8>(at) - 0x30 < 10) {
    at += 1;
  }
  if (at === from) {
    unreachable();
  }
  return at;
}
