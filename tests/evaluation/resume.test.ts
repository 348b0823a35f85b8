import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, readFile, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { evaluate } from "../../src/evaluation/index.ts";
import { Client } from "../../src/main/index.ts";
import { add, createSums, isRight, openClient, settle, toArray } from "./evaluation-setup.ts";

const program = join(import.meta.dirname, "../support/evaluation-program.mjs");

interface ProgramResult {
  readonly rows: number;
  readonly resumed: number;
  readonly acknowledged: number;
  readonly unacknowledged: number;
  readonly scores: unknown;
  readonly id: string;
  readonly name: string;
  readonly warnings: readonly string[];
}

/** A process that evaluates 60 rows, four at a time. */
class EvaluationProcess {
  readonly child: ChildProcess;
  /** Numbers of the rows for which the target was called. */
  readonly called: number[] = [];
  result: ProgramResult | undefined;
  errors = "";

  constructor(args: readonly string[]) {
    this.child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => {
      this.child.kill("SIGKILL");
    });
    this.child.stderr?.on("data", (chunk: Buffer) => {
      this.errors += chunk.toString();
    });
  }

  /** Reads the process's output until it ends, or until `count` rows were begun. */
  async read(count = Number.POSITIVE_INFINITY): Promise<void> {
    const { stdout } = this.child;
    if (stdout === null) {
      return;
    }
    for await (const line of createInterface({ input: stdout })) {
      if (line.startsWith("result ")) {
        this.result = JSON.parse(line.slice("result ".length)) as ProgramResult;
      } else {
        this.called.push(Number(line));
      }
      if (this.called.length >= count) {
        return;
      }
    }
  }

  async kill(): Promise<void> {
    const closed = once(this.child, "close");
    this.child.kill("SIGKILL");
    await closed;
  }
}

/** The rows that are in the journal. */
async function readJournalNumbers(journalDir: string): Promise<number[]> {
  const [folder = ""] = await readdir(journalDir);
  const [name = ""] = (await readdir(join(journalDir, folder))).filter((file) =>
    file.endsWith(".jsonl"),
  );
  const lines = (await readFile(join(journalDir, folder, name), "utf8")).split("\n");
  return lines
    .filter((line) => line.startsWith('{"row":') && line.endsWith("}"))
    .map((line) => (JSON.parse(line) as { row: { inputs: { number: number } } }).row.inputs.number);
}

describe("after kill -9", () => {
  test.each([5, 23, 41])(
    "the same command goes on: no stored row again, at most four unfinished ones (killed at %i)",
    async (count) => {
      const { client, url, journalDir } = await openClient();
      const first = new EvaluationProcess([url, journalDir]);
      await first.read(count);
      await first.kill();
      const stored = await readJournalNumbers(journalDir);
      expect(stored.length).toBeGreaterThan(0);
      expect(stored.length).toBeLessThan(60);
      const second = new EvaluationProcess([url, journalDir]);
      await second.read();
      expect(second.errors).toBe("");
      // No row that is in the journal was run again.
      expect(second.called.filter((number) => stored.includes(number))).toEqual([]);
      const repeated = second.called.filter((number) => first.called.includes(number));
      expect(repeated.length).toBeLessThanOrEqual(4);
      expect(second.called.length + stored.length).toBe(60);
      expect(second.result).toMatchObject({
        name: "killed",
        rows: 60,
        resumed: stored.length,
        acknowledged: 60,
        unacknowledged: 0,
        scores: { isRight: { count: 60, mean: 1 } },
        warnings: [],
      });
      // One experiment, one run for each row, one score for each run.
      const projectId = second.result?.id ?? "";
      const names = (await client.projects.list({ nameContains: "killed" }).toArray()).map(
        ({ name }) => name,
      );
      expect(names).toEqual(["killed"]);
      const runs = await client.runs.list({ projectIds: [projectId], isRoot: true }).toArray();
      expect(runs).toHaveLength(60);
      for (const { inputs, outputs, endTime, feedbackStats } of runs) {
        const number = Number(inputs?.["number"]);
        expect({ outputs, isEnded: endTime !== undefined, feedbackStats }).toMatchObject({
          outputs: { square: number * number },
          isEnded: true,
          feedbackStats: { isRight: { n: 1, avg: 1 } },
        });
      }
      // The experiment is complete, so another evaluation is another experiment.
      const third = new EvaluationProcess([url, journalDir, "0"]);
      await third.read();
      expect(third.result).toMatchObject({ name: "killed-2", rows: 60, resumed: 0 });
    },
  );

  test("the version of the dataset that was pinned is evaluated, although the dataset has changed", async () => {
    const { client, url, journalDir } = await openClient();
    const datasetName = "squares";
    await client.datasets.create({ name: datasetName });
    const toExample = (number: number) => ({
      inputs: { number },
      outputs: { square: number * number },
    });
    await client.examples.createMany({
      datasetName,
      examples: Array.from({ length: 12 }, (_, number) => toExample(number)),
    });
    const first = new EvaluationProcess([url, journalDir, "30", datasetName]);
    await first.read(6);
    await first.kill();
    await client.examples.create({ datasetName, ...toExample(100) });
    const second = new EvaluationProcess([url, journalDir, "0", datasetName]);
    await second.read();
    expect(second.result).toMatchObject({ rows: 12, acknowledged: 12 });
    expect(second.called).not.toContain(100);
  });

  test("a line that a power cut left incomplete is done again", async () => {
    const { url, journalDir } = await openClient();
    const first = new EvaluationProcess([url, journalDir]);
    await first.read(20);
    await first.kill();
    const [folder = ""] = await readdir(journalDir);
    const [name = ""] = (await readdir(join(journalDir, folder))).filter((file) =>
      file.endsWith(".jsonl"),
    );
    await appendFile(join(journalDir, folder, name), '{"row":{"runId":"half');
    const second = new EvaluationProcess([url, journalDir, "0"]);
    await second.read();
    expect(second.result).toMatchObject({ rows: 60, acknowledged: 60 });
  });

  test("another machine, which has no journal, goes on with the rows that the server has", async () => {
    const { client, url, journalDir } = await openClient();
    const first = new EvaluationProcess([url, journalDir, "150"]);
    await first.read(12);
    // So that the server has some of the rows completely: a run with its score.
    const countScored = async (): Promise<number> => {
      const runs = await client.runs.list({ projectNames: ["killed"], isRoot: true }).toArray();
      return runs.filter(({ feedbackStats = {} }) => Object.keys(feedbackStats ?? {}).length > 0)
        .length;
    };
    await expect.poll(countScored, { timeout: 20_000 }).toBeGreaterThan(0);
    await first.kill();
    const stored = await readJournalNumbers(journalDir);
    await rm(journalDir, { recursive: true });
    const second = new EvaluationProcess([url, journalDir, "0"]);
    await second.read();
    expect(second.result).toMatchObject({ name: "killed", rows: 60, acknowledged: 60 });
    expect(second.result?.resumed).toBeGreaterThan(0);
    expect(second.result?.resumed).toBeLessThanOrEqual(stored.length + 4);
    expect(second.called.length).toBe(60 - (second.result?.resumed ?? 0));
  });
});

describe("two processes", () => {
  test("the second one is told who evaluates the experiment, and loses nothing for the first", async () => {
    const { client, url, journalDir } = await openClient();
    const first = new EvaluationProcess([url, journalDir]);
    await first.read(5);
    const pid = first.child.pid ?? 0;
    const second = evaluate(({ number }) => ({ square: number }), {
      data: [{ inputs: { number: 1 }, outputs: { square: 1 } }],
      experiment: "killed",
      client,
      journalDir,
    });
    await expect(settle(second)).rejects.toThrow(
      `The experiment "killed" is being evaluated by process ${pid} on ${hostname()}`,
    );
    await first.read();
    expect(first.result).toMatchObject({ rows: 60, acknowledged: 60 });
  });
});

describe("the option `resume`", () => {
  const interrupt = async (
    setup: Awaited<ReturnType<typeof openClient>>,
    data: string,
  ): Promise<void> => {
    const aborting = new AbortController();
    const evaluation = evaluate(add, {
      data,
      evaluators: [isRight],
      experiment: "interrupted",
      client: setup.client,
      journalDir: setup.journalDir,
      concurrency: 1,
      signal: aborting.signal,
      onRow: () => aborting.abort(),
    });
    await expect(settle(evaluation)).rejects.toMatchObject({ code: "ABORTED" });
  };

  test("an aborted evaluation goes on; with other code or data another one starts, and says so", async () => {
    const setup = await openClient();
    const { client, journalDir } = setup;
    const data = await createSums(client);
    const common = { experiment: "interrupted", client, journalDir };
    await interrupt(setup, data);
    const changed = await evaluate(({ a }: { a: number; b: number }) => ({ sum: a }), {
      ...common,
      data,
      evaluators: [isRight],
    });
    expect(changed).toMatchObject({ resumed: 0, experiment: { name: "interrupted-2" } });
    expect(changed.warnings[0]).toContain(
      'The interrupted experiment "interrupted" is not continued, because the code of target or evaluators has changed.',
    );
  });

  test("true continues it nevertheless, also after its end; false never does", async () => {
    const setup = await openClient();
    const { client, journalDir } = setup;
    const data = await createSums(client);
    const common = { data, experiment: "interrupted", client, journalDir, evaluators: [isRight] };
    await interrupt(setup, data);
    const otherAdd = ({ a, b }: { a: number; b: number }) => ({ sum: b + a });
    const continued = await evaluate(otherAdd, { ...common, resume: true });
    expect(continued).toMatchObject({ rows: 4, resumed: 1, experiment: { name: "interrupted" } });
    const projectIds = [continued.experiment.id];
    const runs = await client.runs.list({ projectIds, isRoot: true }).toArray();
    expect(runs.map(({ status, error }) => [status, error])).toEqual(
      runs.map(() => ["success", undefined]),
    );
    const again = await evaluate(otherAdd, { ...common, resume: true });
    expect(again).toMatchObject({ rows: 4, resumed: 4, experiment: { name: "interrupted" } });
    const other = await evaluate(otherAdd, { ...common, resume: false });
    expect(other).toMatchObject({ rows: 4, resumed: 0, experiment: { name: "interrupted-2" } });
    const refused = evaluate(otherAdd, { ...common, repetitions: 2, resume: true });
    await expect(settle(refused)).rejects.toThrow(
      "its data or its number of repetitions was different",
    );
  });
});

test("without a server that answers, rows stay in the journal and the next evaluation sends them", async () => {
  const { client, url, journalDir } = await openClient();
  let isAway = false;
  const relay = await startRelay(url, () => isAway);
  const away = new Client({
    endpoint: relay,
    attempts: 1,
    timeoutMs: 1_000,
    drainTimeoutMs: 1_000,
  });
  onTestFinished(async () => {
    await away.close();
  });
  const common = {
    data: Array.from({ length: 5 }, (_, a) => ({ inputs: { a, b: 1 }, outputs: { sum: a + 1 } })),
    evaluators: [isRight],
    experiment: "away",
    journalDir,
  };
  const interrupted = evaluate(
    (inputs: { a: number; b: number }) => {
      isAway = true;
      return add(inputs);
    },
    { ...common, client: away },
  );
  // The end of the experiment can't be stored either.
  const { rows, acknowledged, unacknowledged, warnings } = await interrupted;
  expect({ rows, acknowledged, unacknowledged }).toEqual({
    rows: 5,
    acknowledged: 0,
    unacknowledged: 5,
  });
  expect(warnings).toEqual([
    expect.stringMatching(/^5 rows are in the journal but not on the server/),
    expect.stringContaining("run the same evaluation again when the server is available"),
  ]);
  isAway = false;
  const result = await evaluate(add, { ...common, client, resume: true });
  expect(result).toMatchObject({ rows: 5, resumed: 5, acknowledged: 5, unacknowledged: 0 });
  const runs = await client.runs
    .list({ projectIds: [result.experiment.id], isRoot: true })
    .toArray();
  expect(runs.map(({ feedbackStats }) => feedbackStats?.["isRight"])).toMatchObject(
    Array.from({ length: 5 }, () => ({ n: 1, avg: 1 })),
  );
  expect(await toArray(result.readRows())).toHaveLength(5);
});

/** Forwards requests to a server, or breaks the connections while the server is "away". */
async function startRelay(url: string, isAway: () => boolean): Promise<string> {
  const { createServer, request } = await import("node:http");
  const server = createServer((incoming, outgoing) => {
    if (isAway()) {
      incoming.socket.destroy();
      return;
    }
    const forwarded = request(
      new URL(incoming.url ?? "/", url),
      { method: incoming.method, headers: incoming.headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 500, response.headers);
        response.pipe(outgoing);
      },
    );
    incoming.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}
