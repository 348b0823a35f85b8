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

  /**
   * Ends an array of so many elements, or an object, that `error` broke off after `done` of them, and says how much
   * is missing. Always throws. It takes values, no closure: what a closure of the walk has is kept in memory, not in
   * registers, also while nothing breaks off.
   */
  stop(error: unknown, whole: number | object, done: number): never {
    if (!(error instanceof FieldFull)) {
      throw error;
    }
    const what = typeof whole === "number" ? "elements" : "keys";
    const count =
      typeof whole === "number" ? whole : countOr(() => Object.keys(whole).length, done + 1);
    const rest = count - done - (error.atKey ? 0 : 1);
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
