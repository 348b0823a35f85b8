import { types } from "node:util";
import type { KeyValues } from "../model/run.ts";

/**
 * What to hide of a payload: `true` for all of it, or a function that returns what may be recorded.
 * It is called once per value, must return at once, and must not change what it is given.
 */
export type Hide = true | ((value: KeyValues) => KeyValues);

export interface HidingOptions {
  readonly hideInputs?: Hide | undefined;
  readonly hideOutputs?: Hide | undefined;
  readonly hideMetadata?: Hide | undefined;
}

/** Recorded in place of a payload whose hiding failed: a payload is never sent raw then. */
export const hiddenMarker = (what: string): KeyValues => ({
  millrace_error: `hiding failed; ${what} dropped`,
});

/** Applies the hiding options; fails closed. */
export class Hiding {
  readonly #options: HidingOptions;
  readonly #onFailure: (message: string) => void;

  constructor(options: HidingOptions, onFailure: (message: string) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
  }

  inputs(value: unknown): unknown {
    return this.#apply("inputs", this.#options.hideInputs, value);
  }

  outputs(value: unknown): unknown {
    return this.#apply("outputs", this.#options.hideOutputs, value);
  }

  metadata(value: unknown): unknown {
    return this.#apply("metadata", this.#options.hideMetadata, value);
  }

  /** A whole `extra`, of which only the metadata may need hiding. */
  extra(value: unknown): unknown {
    if (this.#options.hideMetadata === undefined || !isKeyValues(value)) {
      return value;
    }
    return { ...value, metadata: this.metadata(value["metadata"]) };
  }

  #apply(what: string, hide: Hide | undefined, value: unknown): unknown {
    if (hide === undefined || value === undefined || value === null) {
      return value;
    }
    if (hide === true) {
      return {};
    }
    try {
      const shown: unknown = isKeyValues(value) ? hide(value) : hide({ value });
      if (isKeyValues(shown) && !types.isPromise(shown)) {
        return shown;
      }
      this.#onFailure(`Hiding ${what} failed: the function returned no object.`);
    } catch {
      // The message of the error may hold what was to be hidden; it is not repeated.
      this.#onFailure(`Hiding ${what} failed: the function threw.`);
    }
    return hiddenMarker(what);
  }
}

const isKeyValues = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null;
