import { Client as MillraceClient } from "millrace";
import type { ClientConfig } from "./client-config.ts";
import { toClientOptions } from "./client-config.ts";
import { readVariable } from "../environment.ts";
import type { KVMap } from "../schemas.ts";

/** The key of the member by which Millrace recognizes its clients. */
const recorderKey = Symbol.for("millrace.recorder");

/** The address of the local server, which is also Millrace's default. */
const defaultApiUrl = "http://localhost:1984";

/** The base class of all parts of the client. It holds the client of Millrace that they use. */
export class BaseClient {
  /** The client of Millrace, for calls that langsmith's interface does not have. */
  readonly millrace: MillraceClient;
  protected readonly config: ClientConfig;

  constructor(config: ClientConfig = {}) {
    this.config = config;
    this.millrace = new MillraceClient(toClientOptions(config));
    // With this member, Millrace's functions accept this object as a client, for example that of the current run.
    Object.defineProperty(this, recorderKey, {
      value: Reflect.get(this.millrace, recorderKey),
    });
  }

  /** Sends everything that was recorded before the call, and waits for the responses. */
  async flush(): Promise<void> {
    await this.millrace.flush();
  }

  /** The same as {@link flush}. */
  async awaitPendingTraceBatches(): Promise<void> {
    await this.millrace.flush();
  }

  /** Does nothing: the cache of prompts has no timer. */
  cleanup(): void {}

  /**
   * The address of the UI. By default it is the address of the API, because the local server has both at one address.
   */
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

/** The data of a run that request headers carry to another process, and that a client's options may filter. */
interface PropagatedFields {
  readonly metadata?: KVMap | undefined;
  readonly tags?: readonly string[] | undefined;
}

/**
 * Applies `hideMetadata` and `redact` of a client to the metadata and tags that request headers would carry, as
 * Millrace's own runs do. What can't be filtered is left out.
 */
export function filterPropagated(client: object, fields: PropagatedFields): PropagatedFields {
  const recorder: unknown = Reflect.get(client, recorderKey);
  // A program may pass a client of another library, which has no recorder.
  const { filterPropagated: filter } = (recorder ?? {}) as {
    readonly filterPropagated?: (fields: PropagatedFields) => PropagatedFields;
  };
  return filter === undefined ? fields : filter(fields);
}

/** Converts the items of a list while the list is read. */
export async function* convert<From, To>(
  items: AsyncIterable<From>,
  toItem: (item: From) => To,
): AsyncGenerator<To, void> {
  for await (const item of items) {
    yield toItem(item);
  }
}
