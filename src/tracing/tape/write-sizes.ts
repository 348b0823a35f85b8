import { longestShortText } from "../../model/records/tape-format.ts";

/** Up to this length, in UTF-16 units, a loop over the characters is faster than a call into the runtime. */
export const maxLoopUnits = 16;
/** Maximum number of UTF-8 bytes for one UTF-16 unit. */
export const utf8BytesPerUnit = 3;
/** Texts of up to this many UTF-16 units always fit the format for short texts. */
export const shortTextUnits = Math.floor(longestShortText / utf8BytesPerUnit);
/** Bytes of tag and length before a text that is not short. */
export const textHeadBytes = 5;
/**
 * The capacity that must be left before a cached text is copied. `TapeWriter.writeKey` never requires more for a text
 * of that length, so no further check is needed.
 */
export const cachedTextCapacity = textHeadBytes + utf8BytesPerUnit * (16 + maxLoopUnits);
/** Used as the limit of a field that has none. */
export const unlimited = Number.MAX_SAFE_INTEGER;
/** Maximum size of a marker in bytes. */
export const maxMarkerBytes = 128;
