import { Client, RunTree } from "@millrace/langsmith";
import type { ClientConfig } from "@millrace/langsmith";
import { traceable } from "@millrace/langsmith/traceable";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { Client as MillraceClient, OptionError } from "millrace";
import type { Run } from "millrace";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";

let server: RunningServer;
let reader: MillraceClient;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
  reader = new MillraceClient({ endpoint: server.url });
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

afterAll(async () => {
  await reader.close();
  await server.close();
});

function createClient(config: ClientConfig = {}): Client {
  const client = new Client({ apiUrl: server.url, ...config });
  onTestFinished(async () => void (await client.millrace.close()));
  return client;
}

/** Records one call of a function, and reads its run. */
async function recordOne(client: Client, project: string): Promise<Run> {
  const work = traceable(
    async (input: { key: string; city: string }) => {
      if (input.city === "Atlantis") {
        throw new Error(`no city for ${input.key}`);
      }
      return { key: input.key, answer: "rain" };
    },
    { name: "work", client, project_name: project, tracingEnabled: true, metadata: { key: "k-1" } },
  );
  await work({ key: "k-1", city: project.includes("fails") ? "Atlantis" : "Paris" }).catch(
    () => {},
  );
  await client.flush();
  const [run] = await reader.runs.list({ projectNames: [project] }).toArray();
  return run!;
}

const maskKeys = (values: Record<string, unknown>) =>
  JSON.parse(JSON.stringify(values).replaceAll("k-1", "***")) as Record<string, unknown>;

test("the anonymizer is applied to inputs, outputs and metadata", async () => {
  const run = await recordOne(createClient({ anonymizer: maskKeys }), "masked");
  expect(run).toMatchObject({
    inputs: { key: "***", city: "Paris" },
    outputs: { key: "***", answer: "rain" },
    extra: { metadata: { key: "***" } },
  });
});

test("the anonymizer is applied to errors, and an anonymizer that throws hides them", async () => {
  const run = await recordOne(createClient({ anonymizer: maskKeys }), "masked, fails");
  expect(run.error).toBe("Error: no city for ***");
  const throwing = (values: Record<string, unknown>) => {
    if ("error" in values) {
      throw new Error("no");
    }
    return values;
  };
  const hidden = await recordOne(createClient({ anonymizer: throwing }), "hidden, fails");
  expect(hidden.error).toBe("[hidden: the anonymizer threw]");
});

test("hideInputs and hideOutputs hide, as a switch and as a function", async () => {
  const client = createClient({
    hideInputs: true,
    hideOutputs: ({ key: _, ...outputs }) => outputs,
  });
  const run = await recordOne(client, "hiding");
  expect(JSON.stringify(run.inputs)).not.toContain("Paris");
  expect(run.outputs).toEqual({ answer: "rain" });
});

/** Returns the entries of the header `baggage` of a run, decoded. */
function readSentBaggage(config: ClientConfig): Record<string, string> {
  const run = new RunTree({
    name: "caller",
    client: createClient(config),
    project_name: "mill",
    metadata: { key: "k-1", city: "Paris" },
    tags: ["k-1", "mail ada@example.org"],
  });
  const entries = run
    .toHeaders()
    .baggage.split(",")
    .map((entry) => entry.split("=") as [string, string]);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.replace("langsmith-", ""), decodeURIComponent(value)]),
  );
}

test("request headers carry what hideMetadata or the anonymizer leaves of the metadata", () => {
  const rest = { project: "mill", tags: "k-1,mail ada@example.org" };
  expect(readSentBaggage({})).toEqual({ ...rest, metadata: '{"key":"k-1","city":"Paris"}' });
  expect(readSentBaggage({ hideMetadata: true })).toEqual(rest);
  expect(readSentBaggage({ anonymizer: maskKeys })).toEqual({
    ...rest,
    metadata: '{"key":"***","city":"Paris"}',
  });
  const hideMetadata = ({ key: _, ...others }: Record<string, unknown>) => others;
  expect(readSentBaggage({ hideMetadata })).toEqual({ ...rest, metadata: '{"city":"Paris"}' });
});

test("request headers carry no metadata if the function that filters it throws", () => {
  const hideMetadata = (): never => {
    throw new Error("no");
  };
  expect(readSentBaggage({ hideMetadata })).not.toHaveProperty("metadata");
});

test("with MILLRACE_REDACT, metadata and tags in request headers are masked", () => {
  vi.stubEnv("MILLRACE_REDACT", "emails");
  const { tags, metadata } = readSentBaggage({});
  expect(tags).toMatch(/^k-1,mail /);
  expect(tags).not.toContain("ada@example.org");
  expect(metadata).toBe('{"key":"k-1","city":"Paris"}');
});

test("an asynchronous anonymizer is refused when the client is created", () => {
  expect(() => new Client({ anonymizer: async (values) => values })).toThrow(OptionError);
  expect(() => new Client({ anonymizer: async (values) => values })).toThrow(
    /must be a synchronous function/,
  );
});

test("an option without effect causes one warning with the reason", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  createClient({ manualFlushMode: true, autoBatchTracing: false, debug: false });
  createClient({ manualFlushMode: true });
  expect(warn.mock.calls.flat()).toEqual([
    expect.stringContaining("autoBatchTracing has no effect: runs are always sent in batches"),
    expect.stringContaining("manualFlushMode has no effect: runs are also sent without a flush"),
  ]);
});

test("a bad option is named", () => {
  expect(() => new Client({ timeout_ms: -1 })).toThrow(/timeoutMs/);
  expect(() => new Client({ tracingSamplingRate: 2 })).toThrow(/samplingRate/);
});

test.each(["LANGSMITH", "LANGCHAIN"])(
  "the variables %s_… configure the client, the project and whether runs are recorded",
  async (prefix) => {
    vi.stubEnv(`${prefix}_ENDPOINT`, server.url);
    vi.stubEnv(`${prefix}_PROJECT`, `of ${prefix}`);
    vi.stubEnv(`${prefix}_TRACING`, "true");
    const client = new Client();
    onTestFinished(async () => void (await client.millrace.close()));
    await traceable(async () => 1, { name: "from the environment", client })();
    await client.flush();
    const runs = await reader.runs.list({ projectNames: [`of ${prefix}`] }).toArray();
    expect(runs.map(({ name }) => name)).toEqual(["from the environment"]);
  },
);

test.each(["false", "1", ""])(
  "with LANGSMITH_TRACING=%s nothing is recorded, and no client is created",
  async (value) => {
    vi.stubEnv("LANGSMITH_TRACING", value);
    const shared = vi.spyOn(RunTree, "getSharedClient");
    const work = traceable(async (n: number) => n * 2, { name: "work" });
    expect(await work(21)).toBe(42);
    expect(shared).not.toHaveBeenCalled();
  },
);
