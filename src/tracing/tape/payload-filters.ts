import { types } from "node:util";
import type { Hide } from "../../model/options/option-table.ts";
import type { KeyValues } from "../../model/run.ts";

export interface FilterOptions {
  readonly hideInputs: Hide;
  readonly hideOutputs: Hide;
  readonly hideMetadata: Hide;
}

/** Recorded in place of a payload whose hiding failed: a payload is never sent raw then. */
export const hiddenMarker = (what: string): KeyValues => ({
  millrace_error: `hiding failed; ${what} dropped`,
});

/** Applies the hiding options; fails closed. */
export class PayloadFilters {
  readonly #options: FilterOptions;
  readonly #onFailure: (message: string) => void;

  constructor(options: FilterOptions, onFailure: (message: string) => void) {
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
    if (this.#options.hideMetadata === false || !isKeyValues(value)) {
      return value;
    }
    try {
      return { ...value, metadata: this.metadata(value["metadata"]) };
    } catch {
      this.#onFailure("Hiding metadata failed: extra can't be read.");
      return hiddenMarker("extra");
    }
  }

  #apply(what: string, hide: Hide, value: unknown): unknown {
    if (hide === false || value === undefined || value === null) {
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
