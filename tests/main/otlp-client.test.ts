import { Client, OptionError } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { runCollector } from "../support/otlp-collector.ts";

async function createClient() {
  const collector = await runCollector();
  const client = new Client({ otlp: { url: collector.url }, firstDelayMs: 0 });
  onTestFinished(async () => {
    await client.close({ timeoutMs: 0 });
  });
  return { client, collector };
}

const id = "0197f9d4-5f0a-7c3b-9c8e-0123456789ab";

type Call = (client: Client) => unknown;

const calls: Readonly<Record<string, Call>> = {
  "datasets.create": (client) => client.datasets.create({ name: "qa" }),
  "datasets.list": (client) => client.datasets.list().toArray(),
  "examples.create": (client) => client.examples.create({ datasetId: id, inputs: {} }),
  "examples.upload": (client) => client.examples.upload([{ inputs: { a: 1 } }], { datasetId: id }),
  "runs.read": (client) => client.runs.read(id),
  "projects.list": (client) => client.projects.list().toArray(),
  "feedback.create": (client) => client.feedback.create({ runId: id, key: "score", score: 1 }),
  "prompts.pull": (client) => client.prompts.pull("greeting"),
  "annotationQueues.list": (client) => client.annotationQueues.list().toArray(),
  "tenant.settings": (client) => client.tenant.settings(),
  "sync.datasets.read": (client) => client.sync.datasets.read({ datasetName: "qa" }),
  "sync.projects.list": (client) => client.sync.projects.list(),
};

test.each(Object.entries(calls))(
  "client.%s fails with one sentence that there is no server, before anything is sent",
  async (_name, call) => {
    const { client, collector } = await createClient();
    const error: unknown = await Promise.resolve()
      .then(() => call(client))
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).toBeInstanceOf(OptionError);
    expect((error as Error).message).toMatch(
      /^[^.]*the option otlp, which only sends runs, so there is no Millrace server to call; create a client without otlp for calls$/,
    );
    expect(collector.requests).toEqual([]);
  },
);

test("neither /info is requested nor are statistics reported", async () => {
  const { client, collector } = await createClient();
  for (let round = 0; round < 3; round++) {
    client.startRun({ name: "run" }).end();
    await client.flush();
  }
  await client.close();
  expect(collector.spans).toHaveLength(3);
  expect(new Set(collector.requests.map(({ path }) => path))).toEqual(new Set(["/v1/traces"]));
  expect(client.stats()).toMatchObject({ delivered: 6, requests: 3 });
  expect(client.stats().server).toBeUndefined();
});
