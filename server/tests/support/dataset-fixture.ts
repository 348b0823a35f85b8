import type { RunningServer } from "@millrace/server";
import { call, runServer } from "./running-server.ts";
import type { CallResult, CallInit, Json } from "./running-server.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The value of a JSON string. */
export function textOf(json: unknown): string {
  if (typeof json !== "string") {
    throw new TypeError(`no text: ${JSON.stringify(json)}`);
  }
  return json;
}

/** The items of a list. */
export const itemsOf = (json: Json): readonly Json[] => (Array.isArray(json) ? json : []);

/** A server with a dataset, and the requests that tests need. */
export class DatasetFixture {
  readonly server: RunningServer;
  readonly id: string;

  private constructor(server: RunningServer, id: string) {
    this.server = server;
    this.id = id;
  }

  static async open(body: JsonObject = {}, server?: RunningServer): Promise<DatasetFixture> {
    const own = server ?? (await runServer());
    const { json } = await call(own, "POST /datasets", { body: { name: "d", ...body } });
    return new DatasetFixture(own, textOf(json["id"]));
  }

  call(target: string, init?: CallInit): Promise<CallResult> {
    return call(this.server, target, init);
  }

  /** Creates one example and returns its id. */
  async add(example: JsonObject = {}): Promise<string> {
    const body = { dataset_id: this.id, inputs: { q: "?" }, ...example };
    return textOf((await this.call("POST /examples", { body })).json["id"]);
  }

  /** Creates examples in one request. */
  addMany(examples: readonly JsonObject[]): Promise<CallResult> {
    const body = examples.map((one) => ({ dataset_id: this.id, inputs: {}, ...one }));
    return this.call("POST /examples/bulk", { body });
  }

  /** Lists the examples. */
  async list(query: Readonly<Record<string, string>> = {}): Promise<readonly Json[]> {
    const parameters = new URLSearchParams({ dataset: this.id, ...query });
    return itemsOf((await this.call(`GET /examples?${parameters.toString()}`)).json);
  }

  /** One member of each listed example. */
  async listOf(member: string, query: Readonly<Record<string, string>> = {}): Promise<Json[]> {
    return (await this.list(query)).map((example) => example[member] as Json);
  }

  /** The times of its versions, oldest first. */
  async versions(): Promise<string[]> {
    const { json } = await this.call(`GET /datasets/${this.id}/versions`);
    return itemsOf(json)
      .map((version) => textOf(version["as_of"]))
      .toReversed();
  }
}
