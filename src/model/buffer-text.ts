/**
 * Internal methods of Node's buffers that write and read strings without checking their arguments. `Buffer.write` and
 * `Buffer.toString` check their arguments and then call these methods. For a short string, the check takes half the
 * time of the call. The methods are undocumented, but exist in every Node version and are used by other libraries. If
 * they are missing, the documented methods are used.
 */
interface BufferInternals extends Buffer {
  latin1Write(text: string, offset: number, length: number): number;
  utf8Write(text: string, offset: number, length: number): number;
  ucs2Write(text: string, offset: number, length: number): number;
  latin1Slice(start: number, end: number): string;
}

const methods = ["latin1Write", "utf8Write", "ucs2Write", "latin1Slice"];
const hasInternals = methods.every(
  (name) => typeof Reflect.get(Buffer.prototype, name) === "function",
);

/**
 * Writes a string whose code units are all below 256, as one byte each. The buffer must have enough space. Returns the
 * number of bytes.
 */
export const writeLatin1 = (bytes: Buffer, text: string, offset: number): number =>
  hasInternals
    ? (bytes as BufferInternals).latin1Write(text, offset, text.length)
    : bytes.write(text, offset, text.length, "latin1");

/** Writes a string as UTF-8, up to the last character that fits completely. Returns the number of bytes. */
export const writeUtf8 = (bytes: Buffer, text: string, offset: number): number =>
  hasInternals
    ? (bytes as BufferInternals).utf8Write(text, offset, bytes.length - offset)
    : bytes.write(text, offset);

/** Writes a string as UTF-16LE. The buffer must have enough space. Returns the number of bytes. */
export const writeUtf16 = (bytes: Buffer, text: string, offset: number): number =>
  hasInternals
    ? (bytes as BufferInternals).ucs2Write(text, offset, 2 * text.length)
    : bytes.write(text, offset, 2 * text.length, "utf16le");

/** Reads bytes as a string: each byte becomes one code unit. */
export const readLatin1 = (bytes: Buffer, start: number, end: number): string =>
  hasInternals
    ? (bytes as BufferInternals).latin1Slice(start, end)
    : bytes.toString("latin1", start, end);
