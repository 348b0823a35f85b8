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

/** Options that `npm start` passes to the example. */
export interface ExampleOptions {
  /** The project's folder, whose Markdown is searched. */
  readonly root: string;
  readonly dataDir: string;
  /** Port of the local server. If it is in use, a free port is used instead. */
  readonly port: number;
  /** Minimum number of runs to record. */
  readonly runs: number;
  /** Whether to exit after the workload, instead of serving until the signal. */
  readonly once: boolean;
  /** Stops the example early. */
  readonly signal: AbortSignal;
}

const host = "127.0.0.1";
const topicCount = 1_000;
const seed = 1;

/** Runs the example. Returns the exit code: 0 if no run is missing or if the example was stopped, else 1. */
export const main = async (options: ExampleOptions): Promise<number> => {
  const { dataDir, signal } = options;
  const port = await findPort(host, options.port);
  if (port !== options.port) {
    console.log(`Port ${options.port} is in use; using a free port instead.`);
  }
  const server = await startServer({ host, port, dataDir });
  const project = `ask-the-docs-${new Date().toISOString()}`;
  // Set these options explicitly, so that environment variables can't change what is recorded and compared.
  const recordingOptions = {
    enabled: true,
    samplingRate: 1,
    hideInputs: false,
    hideOutputs: false,
  };
  const client = new Client({ ...recordingOptions, endpoint: server.url, projectName: project });
  try {
    console.log(`The server listens at ${server.url} and keeps its data in ${dataDir}`);
    const workload = prepare(options);
    const isNothingLost = await runAndCompare({ ...workload, client, signal }, server.url, project);
    if (signal.aborted) {
      return 0;
    }
    if (options.once) {
      return isNothingLost ? 0 : 1;
    }
    const { backend, url } = await serve({ ...workload.pipeline, client });
    console.log("\nThe example is still serving; press Ctrl-C to stop it. Ask your own question:");
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
  const { kind, ...modelOptions } = chooseModel(process.env);
  const scale = chooseScale(kind, runs);
  const { baselineRequests, requestLimit } = scale;
  if (kind === "openai") {
    console.log(
      `OPENAI_API_KEY is set: ${2 * baselineRequests + requestLimit} requests will be sent to the OpenAI API.`,
    );
  }
  return {
    pipeline: { root, library, ...modelOptions },
    topics: makeTopics(sections, topicCount, seed),
    scale,
  };
};

/**
 * Runs the workload, compares the runs on the server with the recorded ones, and prints the summary. Returns whether no
 * run is missing.
 */
const runAndCompare = async (
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
