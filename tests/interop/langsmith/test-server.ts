import { toWireRun } from "../../support/wire-run.ts";
import { startTestServer } from "../../support/test-server.ts";
import type { RunningServer } from "@millrace/server";
import { Client as MovedClient } from "@millrace/langsmith";
import { Client as TodaysClient } from "langsmith";
import { Client as OldClient } from "langsmith-0.1";
import { Client as NewestClient } from "langsmith-0.12";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Client } from "../../../src/main/index.ts";
import type { WireRun } from "../../../src/main/index.ts";
import { methodsOf, versions } from "./methods.ts";
import type { NewVersion, TestedResource, Version } from "./methods.ts";

export { OldClient, TodaysClient };

/** A local server for one test file, and the clients that use it. */
export class LangsmithTestServer {
  readonly #resource: TestedResource;
  readonly #called: Record<Version, Set<string>> = {
    "langsmith-0.1": new Set(),
    langsmith: new Set(),
    "langsmith-0.12": new Set(),
    "@millrace/langsmith": new Set(),
  };
  #server: RunningServer | undefined;
  #reader: Client | undefined;

  constructor(resource: TestedResource) {
    this.#resource = resource;
    beforeAll(async () => {
      this.#server = await startTestServer();
      this.#reader = new Client({ endpoint: this.#server.url });
    });
    afterAll(async () => {
      await this.#reader?.close();
      await this.#server?.close();
    });
  }

  get url(): string {
    return this.#server!.url;
  }

  /** A Millrace client, for reading back what other clients sent. */
  get reader(): Client {
    return this.#reader!;
  }

  /** The runs of a project, read with the Millrace client. */
  async runsOf(project: string): Promise<WireRun[]> {
    const runs = this.reader.runs.list({ projectNames: [project], order: "asc" });
    return (await runs.toArray()).map(toWireRun);
  }

  /** Creates a client of langsmith 0.1 and records which of its methods are called. */
  old(options: ConstructorParameters<typeof OldClient>[0] = {}): OldClient {
    return this.#noting(
      new OldClient({ apiUrl: this.url, apiKey: "none", ...options }),
      "langsmith-0.1",
    );
  }

  /** Creates a client of langsmith 0.10 or 0.12 and records which of its methods are called. */
  newest(
    version: NewVersion,
    options: ConstructorParameters<typeof TodaysClient>[0] = {},
  ): TodaysClient {
    const settings = { apiUrl: this.url, apiKey: "none", ...options };
    // The tests call what all of them have, and all take the same.
    const client = new newClients[version](settings as object) as unknown as TodaysClient;
    onTestFinished(() => {
      client.cleanup();
    });
    return this.#noting(client, version);
  }

  /** Creates a client of any version, for code that was written for the old one. Newer clients accept the same calls. */
  either(version: Version, apiUrl = this.url): OldClient {
    return version === "langsmith-0.1"
      ? this.old({ apiUrl })
      : (this.newest(version, { apiUrl }) as unknown as OldClient);
  }

  /** Must be called last: fails with the names of all methods that no earlier test called. */
  expectAllCalled(): void {
    describe.each(versions)("with all tests of this file, %s", (version) => {
      test(`calls each of its methods about ${this.#resource}`, () => {
        const called = this.#called[version];
        const missing = methodsOf(this.#resource, version).filter((name) => !called.has(name));
        expect(missing).toEqual([]);
      });
    });
  }

  #noting<C extends object>(client: C, version: Version): C {
    const called = this.#called[version];
    return new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") {
          return value;
        }
        return (...args: unknown[]): unknown => {
          called.add(String(name));
          const result = Reflect.apply(value, target, args) as unknown;
          return version === "langsmith-0.12" && batched.has(String(name))
            ? settle(result, target)
            : result;
        };
      },
    });
  }
}

const newClients = {
  langsmith: TodaysClient,
  "langsmith-0.12": NewestClient,
  "@millrace/langsmith": MovedClient,
};

/** Methods that 0.12 queues and sends after they have returned. */
const batched = new Set(["createFeedback", "logEvaluationFeedback"]);

async function settle(result: unknown, client: object): Promise<unknown> {
  const value = await result;
  await (client as TodaysClient).flush();
  await (client as TodaysClient).awaitPendingTraceBatches();
  return value;
}

export async function toArray<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) {
    all.push(item);
  }
  return all;
}

/** A name that nothing else uses. */
export const unique = (stem: string): string => `${stem} ${crypto.randomUUID()}`;
