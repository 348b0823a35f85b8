/**
 * Writes and reads strings in buffers with the methods that `Buffer.write` and `toString` call
 * internally after checking their arguments. For a short string that check takes half of the time.
 * These methods are undocumented, but exist in every Node version and are used by other libraries.
 * If they are missing, the documented methods are used.
 */
interface BufferInternals extends Buffer {
  latin1Write(text: string, offset: number, length: number): number;
  utf8Write(text: string, offset: number, length: number): number;
  ucs2Write(text: string, offset: number, length: number): number;
  latin1Slice(from: number, to: number): string;
}

const methods = ["latin1Write", "utf8Write", "ucs2Write", "latin1Slice"];
const hasInternals = methods.every(
  (name) => typeof Reflect.get(Buffer.prototype, name) === "function",
);

/**
 * Writes a string of code units below 256. There must be enough space. Returns the number of bytes.
 */
export const writeLatin1 = (bytes: Buffer, text: string, offset: number): number =>
  hasInternals
    ? (bytes as BufferInternals).latin1Write(text, offset, text.length)
    : bytes.write(text, offset, text.length, "latin1");

/** Writes as many complete characters of a string as fit, as UTF-8. Returns the number of bytes. */
export const writeUtf8 = (bytes: Buffer, text: string, offset: number): number =>
  hasInternals
    ? (bytes as BufferInternals).utf8Write(text, offset, bytes.length - offset)
    : bytes.write(text, offset);

/** Writes a string as UTF-16LE. There must be enough space. Returns the number of bytes. */
export const writeUtf16 = (bytes: Buffer, text: string, offset: number): number =>
  hasInternals
    ? (bytes as BufferInternals).ucs2Write(text, offset, 2 * text.length)
    : bytes.write(text, offset, 2 * text.length, "utf16le");

/** Reads a string with one code unit per byte. */
export const readLatin1 = (bytes: Buffer, from: number, to: number): string =>
  hasInternals
    ? (bytes as BufferInternals).latin1Slice(from, to)
    : bytes.toString("latin1", from, to);
