import { longestShortText } from "../../model/records/tape-format.ts";

/** Up to this length, in UTF-16 units, a loop over the characters is faster than a call into the runtime. */
export const maxLoopUnits = 16;
/** Maximum number of UTF-8 bytes for one UTF-16 unit. */
export const utf8BytesPerUnit = 3;
/** Texts of up to this many UTF-16 units always fit the format for short texts. */
export const shortTextUnits = Math.floor(longestShortText / utf8BytesPerUnit);
/** Size in bytes of what precedes a text that is not short: its tag and its length. */
export const textHeadBytes = 5;
/**
 * How many bytes must be free before a cached text is copied. `TapeWriter.writeKey` never requires more for a text that
 * is short enough to be cached, so no further check is needed.
 */
export const cachedTextCapacity = textHeadBytes + utf8BytesPerUnit * (16 + maxLoopUnits);
/** The limit of a field whose size is not limited. */
export const unlimited = Number.MAX_SAFE_INTEGER;
/** Maximum size in bytes of a marker, a text that replaces a value or the rest of one. */
export const maxMarkerBytes = 128;
