import { FieldFull } from "./no-room.ts";
import { countOr } from "./object-kinds.ts";
import type { TapeWriter } from "./tape-writer.ts";

/** Markers in one value that say how much of an array or an object is missing: the innermost ones. */
const most = 16;

/** Ends arrays and objects whose field is full. */
export class RestMarkers {
  readonly #out: TapeWriter;
  #written = 0;

  constructor(out: TapeWriter) {
    this.#out = out;
  }

  /** Another value begins. */
  reset(): void {
    this.#written = 0;
  }

  /** Ends an array or object that `error` broke off, and says how much is missing. Always throws. */
  stop(error: unknown, what: "elements" | "keys", undone: () => number): never {
    if (!(error instanceof FieldFull)) {
      throw error;
    }
    const rest = countOr(undone, 1) - (error.atKey ? 0 : 1);
    if (rest > 0 && this.#written < most) {
      this.#written += 1;
      if (what === "keys") {
        this.#out.text("[truncated]");
      }
      this.#out.text(what === "keys" ? `${rest} more keys` : `[truncated: ${rest} more elements]`);
    }
    this.#out.end();
    throw new FieldFull(false);
  }
}
