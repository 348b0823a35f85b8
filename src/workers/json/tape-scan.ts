import { longestShortText, tag } from "../../model/records/tape-format.ts";

/** Finds where tagged values end, without decoding them. A tagged value begins with a byte that states its type. */
export class TapeScan {
  /** Whether binary data was skipped since the caller last set this to false. */
  hasSeenBytes = false;
  /** Whether an array, possibly inside another value, was skipped since the caller last set this to false. */
  hasSeenArray = false;
  readonly #bytes: Buffer;
  readonly #view: DataView;

  constructor(bytes: Buffer, view: DataView) {
    this.#bytes = bytes;
    this.#view = view;
  }

  /** Returns the offset of the value after the one at `start`. */
  skipValue(start: number): number {
    let offset = start;
    let depth = 0;
    do {
      const tagByte = this.#bytes[offset] ?? tag.null;
      if (tagByte >= tag.shortText) {
        offset += 1 + (tagByte & longestShortText);
        continue;
      }
      switch (tagByte) {
        case tag.text:
        case tag.wideText:
          offset += 5 + this.#view.getUint32(offset + 1, true);
          break;
        case tag.int:
          offset += 5;
          break;
        case tag.double:
          offset += 9;
          break;
        case tag.object:
        case tag.array:
          this.hasSeenArray ||= tagByte === tag.array;
          depth += 1;
          offset += 1;
          break;
        case tag.end:
          depth -= 1;
          offset += 1;
          break;
        case tag.bytes:
          this.hasSeenBytes = true;
          // Skip the text that names the type, then the data.
          offset = this.skipValue(offset + 1);
          offset += 4 + this.#view.getUint32(offset, true);
          break;
        default:
          offset += 1;
      }
    } while (depth > 0);
    return offset;
  }
}
