import { isUtf8 } from "node:buffer";

/** Characters of the shortest run that is decoded: fewer can't hold `password=abcd`. */
const shortestRun = 18;
/** By UTF-16 unit: 1 for those of base64 in either alphabet, without padding. */
const isBase64 = new Uint8Array(65_536);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
  isBase64[character.charCodeAt(0)] = 1;
}
/** Characters of the beginning that are decoded to distinguish text from other data: four characters are three bytes. */
const sampleLength = 64;
/** Characters of one run that are decoded at most. */
const longestRun = 1_048_576;
/** ASCII control characters other than tab, line feed and carriage return: text has none. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** Calls for each part of a text that is base64 of another text. */
export function forEachEncodedText(
  text: string,
  onText: (decoded: string, from: number, to: number) => void,
): void {
  // A run of the least length covers one of the characters that are looked at, whichever it begins with.
  for (let at = shortestRun - 1; at < text.length; at += shortestRun) {
    if (isBase64[text.charCodeAt(at)] === 1) {
      const from = runStart(text, at);
      at = runEnd(text, at);
      if (at - from >= shortestRun) {
        decodeRun(text, from, at, onText);
      }
    }
  }
}

function runStart(text: string, inside: number): number {
  let at = inside;
  while (at > 0 && isBase64[text.charCodeAt(at - 1)] === 1) {
    at -= 1;
  }
  return at;
}

function runEnd(text: string, inside: number): number {
  let at = inside + 1;
  while (at < text.length && isBase64[text.charCodeAt(at)] === 1) {
    at += 1;
  }
  return at;
}

// oxlint-disable-next-line max-params -- called for many words of each text; an object would be garbage
function decodeRun(
  text: string,
  from: number,
  to: number,
  onText: (decoded: string, from: number, to: number) => void,
): void {
  const sample = Buffer.from(text.slice(from, Math.min(to, from + sampleLength)), "base64");
  if (isText(sample, to - from > sampleLength)) {
    const run = text.slice(from, Math.min(to, from + longestRun));
    onText(Buffer.from(run, "base64").toString("utf8"), from, to);
  }
}

/** With `isCut` the last character may lack bytes. */
function isText(bytes: Buffer, isCut: boolean): boolean {
  const end = isCut ? wholeEnd(bytes) : bytes.length;
  return isUtf8(bytes.subarray(0, end)) && !control.test(bytes.toString("latin1", 0, end));
}

/** Where the last character begins that may lack bytes, or the end where that one is ASCII. */
function wholeEnd(bytes: Buffer): number {
  for (let at = bytes.length - 1; at >= 0 && at >= bytes.length - 4; at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) {
      return at + 1;
    }
    if (byte >= 0xc0) {
      return at;
    }
  }
  return bytes.length;
}
