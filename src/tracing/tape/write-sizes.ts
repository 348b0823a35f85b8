import { longestShortText } from "../../model/records/tape-format.ts";

/** Up to here a loop over the characters of a text beats a call into the runtime. */
export const loopLimit = 16;
/** UTF-8 bytes of one UTF-16 unit, at most. */
export const utf8Growth = 3;
/** Texts of so many UTF-16 units are short ones, whatever they hold. */
export const shortUnits = Math.floor(longestShortText / utf8Growth);
/** Bytes before a text that is not short. */
export const textHead = 5;
/** Room that a known text is written into without asking more: as {@link TapeWriter.key} would want for it. */
export const cachedBytes = textHead + utf8Growth * (16 + loopLimit);
/** Where a field without a limit ends. */
export const noEnd = Number.MAX_SAFE_INTEGER;
/** Bytes of a marker, at most. */
export const markerBytes = 128;
