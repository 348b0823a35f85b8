import { callServer } from "../local-server/call-server.ts";
import type { Settings } from "../local-server/settings.ts";

/** A price in US dollars: a number, or a price that depends on the number of input tokens. */
export type Rate =
  | number
  | {
      readonly base: number;
      readonly tiers: readonly { readonly start: number; readonly price: number }[];
    };

/** The members that identify a row of the price table. */
export interface PriceKey {
  readonly provider: string | null;
  readonly model: string;
  readonly tier: string | null;
  readonly from: string | null;
}

/** A row of the price table. */
export interface Price extends PriceKey {
  readonly prices: Readonly<Record<string, Rate>>;
}

/** Progress of recomputing the costs of stored runs. */
export interface RecomputeProgress {
  /** Position of the last examined run among the stored runs. `last` is the position of the last stored run. */
  readonly position: number;
  readonly last: number;
  readonly done: boolean;
  readonly examined: number;
  readonly changed: number;
  readonly unreadable: number;
  readonly unknown_models: Readonly<Record<string, number>>;
}

/**
 * Time limit of one request. Computing costs takes a fraction of it, but other writes may have to be completed first.
 */
const timeoutMs = 60_000;

/** Reads and changes the price table of a server, and lets the server recompute costs. */
export class PriceClient {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async list(): Promise<readonly Price[]> {
    return ((await this.#call("GET", "/ui/prices")) as { readonly prices: readonly Price[] })
      .prices;
  }

  /** Adds rows, or replaces the whole table by them. Returns the rows as stored. */
  async set(
    prices: readonly unknown[],
    { replace = false }: { readonly replace?: boolean } = {},
  ): Promise<readonly Price[]> {
    const response = await this.#call("PUT", "/ui/prices", { prices, replace });
    return (response as { readonly prices: readonly Price[] }).prices;
  }

  async remove(key: PriceKey): Promise<void> {
    await this.#call("POST", "/ui/prices/remove", key);
  }

  /**
   * Recomputes the costs of the next part of the stored runs.
   *
   * @param mode - `restart` begins with the first run; `resume` continues an interrupted recomputation, or begins a new
   * one if none was interrupted; `continue` does the next step.
   */
  async recompute(mode: "restart" | "resume" | "continue"): Promise<RecomputeProgress> {
    return (await this.#call("POST", "/ui/prices/recompute", { mode })) as RecomputeProgress;
  }

  #call(method: string, path: string, body?: unknown): Promise<unknown> {
    return callServer(this.#settings, { method, path, body, timeoutMs });
  }
}
