import { longestShortText, tag } from "../../model/records/tape-format.ts";

/** Finds where tagged values end, without a look at what they say. */
export class TapeScan {
  /** Whether one of the values that were passed since this was last set holds binary data. */
  sawBytes = false;
  /** Likewise, whether one is or holds an array. */
  sawArray = false;
  readonly #bytes: Buffer;
  readonly #view: DataView;

  constructor(bytes: Buffer, view: DataView) {
    this.#bytes = bytes;
    this.#view = view;
  }

  /** Where the value behind the one at `at` begins. */
  past(start: number): number {
    let at = start;
    let depth = 0;
    do {
      const kind = this.#bytes[at] ?? tag.null;
      if (kind >= tag.shortText) {
        at += 1 + (kind & longestShortText);
        continue;
      }
      switch (kind) {
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
          this.sawArray ||= kind === tag.array;
          depth += 1;
          at += 1;
          break;
        case tag.end:
          depth -= 1;
          at += 1;
          break;
        case tag.bytes:
          this.sawBytes = true;
          // The text that names its type, then the data.
          at = this.past(at + 1);
          at += 4 + this.#view.getUint32(at, true);
          break;
        default:
          at += 1;
      }
    } while (depth > 0);
    return at;
  }
}
