import { longestShortText, tag } from "../../model/records/tape-format.ts";

/** Finds where tagged values end, without decoding them. */
export class TapeScan {
  /** Whether a value that was skipped since this was last reset has binary data. */
  sawBytes = false;
  /** Whether a value that was skipped since this was last reset is or contains an array. */
  sawArray = false;
  readonly #bytes: Buffer;
  readonly #view: DataView;

  constructor(bytes: Buffer, view: DataView) {
    this.#bytes = bytes;
    this.#view = view;
  }

  /** Returns the offset of the value after the one at `start`. */
  skipValue(start: number): number {
    let at = start;
    let depth = 0;
    do {
      const tagByte = this.#bytes[at] ?? tag.null;
      if (tagByte >= tag.shortText) {
        at += 1 + (tagByte & longestShortText);
        continue;
      }
      switch (tagByte) {
        case tag.text:
        case tag.wideText:
          at += 5 + this.#view.getUint32(at + 1, true);
          break;
        case tag.int:
          at += 5;
          break;
        case tag.double:
          at += 9;
          break;
        case tag.object:
        case tag.array:
          this.sawArray ||= tagByte === tag.array;
          depth += 1;
          at += 1;
          break;
        case tag.end:
          depth -= 1;
          at += 1;
          break;
        case tag.bytes:
          this.sawBytes = true;
          // Skip the text that names the type, then the data.
          at = this.skipValue(at + 1);
          at += 4 + this.#view.getUint32(at, true);
          break;
        default:
          at += 1;
      }
    } while (depth > 0);
    return at;
  }
}
