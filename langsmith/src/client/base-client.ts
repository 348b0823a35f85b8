import { Client as MillraceClient } from "millrace";
import type { ClientConfig } from "./client-config.ts";
import { toClientOptions } from "./client-config.ts";
import { readVariable } from "../environment.ts";

/** The key under which Millrace finds what records the runs of a client. */
const recorderKey = Symbol.for("millrace.recorder");

/** The address of the local server, and Millrace's default. */
const defaultApiUrl = "http://localhost:1984";

/** What all parts of the client share: the Millrace client that does the work. */
export class BaseClient {
  /** The client of Millrace underneath, for what langsmith's has no method for. */
  readonly millrace: MillraceClient;
  protected readonly config: ClientConfig;

  constructor(config: ClientConfig = {}) {
    this.config = config;
    this.millrace = new MillraceClient(toClientOptions(config));
    // So that Millrace's functions take this client for one of theirs, for example where a run of it is the current one.
    Object.defineProperty(this, recorderKey, {
      value: Reflect.get(this.millrace, recorderKey),
    });
  }

  /** Sends everything recorded before the call, and waits until it arrived. */
  async flush(): Promise<void> {
    await this.millrace.flush();
  }

  /** As {@link flush}. */
  async awaitPendingTraceBatches(): Promise<void> {
    await this.millrace.flush();
  }

  /** Does nothing: the cache of prompts has no timer. */
  cleanup(): void {}

  /** The address of the UI. The local server has it at the address of its API. */
  getHostUrl(): string {
    return this.config.webUrl ?? this.#apiUrl;
  }

  toString(): string {
    return `[LangSmithClient apiUrl=${JSON.stringify(this.#apiUrl)}]`;
  }

  get #apiUrl(): string {
    return this.config.apiUrl ?? readVariable("ENDPOINT") ?? defaultApiUrl;
  }
}

/** A list that is read while it is iterated, converted item by item. */
export async function* convert<From, To>(
  items: AsyncIterable<From>,
  toItem: (item: From) => To,
): AsyncGenerator<To, void> {
  for await (const item of items) {
    yield toItem(item);
  }
}

/** Leaves out what is absent, so that it is not sent. */
export const defined = <Fields extends object>(
  fields: Fields,
): { [Key in keyof Fields]: Exclude<Fields[Key], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Fields]: Exclude<Fields[Key], undefined>;
  };
