import { once } from "node:events";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { serve } from "./backend.ts";
import { readCorpus } from "./corpus.ts";
import { chooseModel } from "./model.ts";
import { findPort } from "./port.ts";
import { makeTopics } from "./questions.ts";
import { readBack, traceAddress } from "./read-back.ts";
import { Library } from "./search.ts";
import { formatSummary, isNothingMissing } from "./summary.ts";
import { chooseScale, runWorkload } from "./workload.ts";
import type { WorkloadOptions } from "./workload.ts";

/** What `npm start` passes on. */
export interface ExampleOptions {
  /** The project's folder, whose Markdown is searched. */
  readonly root: string;
  readonly dataDir: string;
  /** Where the local server listens; where it is in use, a free one is taken. */
  readonly port: number;
  /** Runs to record, at least. */
  readonly runs: number;
  /** Ends after the workload, instead of serving until the signal. */
  readonly once: boolean;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

const host = "127.0.0.1";
const topicCount = 1_000;
const seed = 1;

/** Runs the example; answers the exit code: 0 only if nothing is missing, or if it was stopped. */
export const main = async (options: ExampleOptions): Promise<number> => {
  const { dataDir, signal } = options;
  const port = await findPort(host, options.port);
  if (port !== options.port) {
    console.log(`Port ${options.port} is in use; taking a free one.`);
  }
  const server = await startServer({ host, port, dataDir });
  const project = `ask-the-docs-${new Date().toISOString()}`;
  // Said here, so that nothing in the environment changes what is compared later.
  const whole = { enabled: true, samplingRate: 1, hideInputs: false, hideOutputs: false };
  const client = new Client({ ...whole, endpoint: server.url, projectName: project });
  try {
    console.log(`The server listens at ${server.url} and keeps its data in ${dataDir}`);
    const prepared = prepare(options);
    const isComplete = await record({ ...prepared, client, signal }, server.url, project);
    if (signal.aborted) {
      return 0;
    }
    if (options.once) {
      return isComplete ? 0 : 1;
    }
    const { backend, url } = await serve({ ...prepared.pipeline, client });
    console.log("\nStill serving; Ctrl-C ends it. Ask a question of your own:");
    console.log(`  curl -sN ${url} -d '{"question":"How do I set a timeout?"}'`);
    if (!signal.aborted) {
      await once(signal, "abort");
    }
    backend.close();
    backend.closeAllConnections();
    return 0;
  } finally {
    await client.close();
    await server.close();
  }
};

const prepare = ({
  root,
  runs,
}: ExampleOptions): Pick<WorkloadOptions, "pipeline" | "topics" | "scale"> => {
  const sections = readCorpus(root);
  const files = new Set(sections.map(({ path }) => path)).size;
  const library = new Library(sections);
  console.log(`Indexed ${sections.length} documents: the sections of ${files} Markdown files.`);
  const { kind, ...answering } = chooseModel(process.env);
  const scale = chooseScale(kind, runs);
  const { baselineRequests, requestLimit } = scale;
  if (kind === "openai") {
    console.log(
      `OPENAI_API_KEY is set: ${2 * baselineRequests + requestLimit} answers come from there.`,
    );
  }
  return {
    pipeline: { root, library, ...answering },
    topics: makeTopics(sections, topicCount, seed),
    scale,
  };
};

/** Runs the workload, reads it back and prints the summary; answers whether nothing is missing. */
const record = async (
  options: WorkloadOptions,
  serverUrl: string,
  project: string,
): Promise<boolean> => {
  const { client, signal } = options;
  const { ledger, ...phases } = await runWorkload(options);
  if (signal.aborted) {
    return false;
  }
  const stats = client.stats();
  const result = await readBack({ serverUrl, project, ledger, signal });
  if (signal.aborted) {
    return false;
  }
  const { size: runs, payloadBytes, sample } = ledger;
  const outcome = { ...phases, runs, payloadBytes, stats, ...result };
  console.log(`\n${formatSummary(outcome)}`);
  if (sample !== undefined) {
    console.log(`\nOne trace: ${await traceAddress(serverUrl, project, sample)}`);
    console.log(`  curl -s ${serverUrl}/runs/${sample}`);
    console.log(
      `  curl -s ${serverUrl}/runs/query -H 'content-type: application/json' -d '{"trace":"${sample}"}'`,
    );
  }
  return isNothingMissing(outcome);
};
