import { types } from "node:util";
import type { Hide } from "../../model/options/option-table.ts";
import type { KeyValues } from "../../model/run.ts";

/** The options that hide payloads. */
export interface FilterOptions {
  readonly hideInputs: Hide;
  readonly hideOutputs: Hide;
  readonly hideMetadata: Hide;
}

/** Recorded in place of a payload whose filter failed. The unfiltered payload is never sent. */
export const createFailureMarker = (payloadName: string): KeyValues => ({
  millrace_error: `hiding failed; ${payloadName} dropped`,
});

/**
 * Applies the options `hideInputs`, `hideOutputs` and `hideMetadata`. If a caller's function fails, a marker replaces
 * the payload.
 */
export class PayloadFilters {
  readonly #options: FilterOptions;
  readonly #onFailure: (message: string) => void;

  constructor(options: FilterOptions, onFailure: (message: string) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
  }

  /** Whether any of the options is a function, which needs the payload that it filters. */
  get hasFunction(): boolean {
    const { hideInputs, hideOutputs, hideMetadata } = this.#options;
    return [hideInputs, hideOutputs, hideMetadata].some((hide) => typeof hide === "function");
  }

  get hidesAllInputs(): boolean {
    return this.#options.hideInputs === true;
  }

  get hidesAllOutputs(): boolean {
    return this.#options.hideOutputs === true;
  }

  get hidesAllMetadata(): boolean {
    return this.#options.hideMetadata === true;
  }

  /** Whether outputs are hidden or filtered. */
  get filtersOutputs(): boolean {
    return this.#options.hideOutputs !== false;
  }

  /** Whether metadata are hidden or filtered. */
  get hidesAnyMetadata(): boolean {
    return this.hidesAllMetadata || typeof this.#options.hideMetadata === "function";
  }

  filterInputs(value: unknown): unknown {
    return this.#apply("inputs", this.#options.hideInputs, value);
  }

  filterOutputs(value: unknown): unknown {
    return this.#apply("outputs", this.#options.hideOutputs, value);
  }

  filterMetadata(value: unknown): unknown {
    return this.#apply("metadata", this.#options.hideMetadata, value);
  }

  /**
   * Filters metadata for the headers of a request. Returns `undefined` if they are hidden, or if the function that
   * filters them failed: the receiver would record a marker as metadata of its own runs.
   */
  filterPropagatedMetadata(metadata: KeyValues | undefined): KeyValues | undefined {
    const { hideMetadata } = this.#options;
    if (hideMetadata === false || metadata === undefined) {
      return metadata;
    }
    return hideMetadata === true ? undefined : this.#call("metadata", hideMetadata, metadata);
  }

  /**
   * Removes tokens from the events of a run in wire format if outputs are hidden or filtered. Libraries such as
   * LangChain record each token of a stream as an event.
   */
  filterEvents(value: unknown): unknown {
    if (!this.filtersOutputs || !Array.isArray(value)) {
      return value;
    }
    try {
      return value.map(withoutToken);
    } catch {
      this.#onFailure("Hiding outputs failed: events can't be read.");
      return [];
    }
  }

  /** Filters the metadata inside `extra`, a member of a run in wire format. */
  filterExtra(value: unknown): unknown {
    if (this.#options.hideMetadata === false || !isKeyValues(value)) {
      return value;
    }
    try {
      return { ...value, metadata: this.filterMetadata(value["metadata"]) };
    } catch {
      this.#onFailure("Hiding metadata failed: extra can't be read.");
      return createFailureMarker("extra");
    }
  }

  #apply(payloadName: string, hide: Hide, value: unknown): unknown {
    if (hide === false || value === undefined || value === null) {
      return value;
    }
    return hide === true
      ? {}
      : (this.#call(payloadName, hide, value) ?? createFailureMarker(payloadName));
  }

  /** Calls a function of the caller. Returns `undefined` if it failed, which is counted. */
  #call(payloadName: string, hide: Exclude<Hide, boolean>, value: unknown): KeyValues | undefined {
    try {
      const filtered: unknown = isKeyValues(value) ? hide(value) : hide({ value });
      if (isKeyValues(filtered) && !types.isPromise(filtered)) {
        return filtered;
      }
      this.#onFailure(`Hiding ${payloadName} failed: the function did not return an object.`);
    } catch {
      // The error's message is not logged, because it may contain what the function should hide.
      this.#onFailure(`Hiding ${payloadName} failed: the function threw.`);
    }
    return undefined;
  }
}

const isKeyValues = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null;

/** Reduces the event of a token to its name and its time. Other events are returned as they are. */
const withoutToken = (event: unknown): unknown =>
  isKeyValues(event) && event["name"] === "new_token"
    ? { name: event["name"], time: event["time"] }
    : event;
