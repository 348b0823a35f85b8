/**
 * Texts into buffers and out of them, by the methods that `Buffer.write` and `toString` call themselves once they have
 * looked at their arguments: for a short text that look is half of the time. Every Node has them and other libraries
 * build on them, but they are not documented; where they are missing the documented ones do the same.
 */
interface Direct extends Buffer {
  latin1Write(text: string, at: number, length: number): number;
  utf8Write(text: string, at: number, length: number): number;
  ucs2Write(text: string, at: number, length: number): number;
  latin1Slice(from: number, to: number): string;
}

const methods = ["latin1Write", "utf8Write", "ucs2Write", "latin1Slice"];
const direct = methods.every((name) => typeof Reflect.get(Buffer.prototype, name) === "function");

/** Writes a text of units below 256, for which there is room; returns its bytes. */
export const writeLatin1 = (bytes: Buffer, text: string, at: number): number =>
  direct
    ? (bytes as Direct).latin1Write(text, at, text.length)
    : bytes.write(text, at, text.length, "latin1");

/** Writes a text as UTF-8, as far as there is room for whole characters; returns its bytes. */
export const writeUtf8 = (bytes: Buffer, text: string, at: number): number =>
  direct ? (bytes as Direct).utf8Write(text, at, bytes.length - at) : bytes.write(text, at);

/** Writes a text as UTF-16LE, for which there is room; returns its bytes. */
export const writeUtf16 = (bytes: Buffer, text: string, at: number): number =>
  direct
    ? (bytes as Direct).ucs2Write(text, at, 2 * text.length)
    : bytes.write(text, at, 2 * text.length, "utf16le");

/** The text of bytes that are a unit each. */
export const readLatin1 = (bytes: Buffer, from: number, to: number): string =>
  direct ? (bytes as Direct).latin1Slice(from, to) : bytes.toString("latin1", from, to);
