/** Runs a measured client and its sink in two separate processes. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { bundleChild } from "./bundle.ts";
import type { ChildName } from "./bundle.ts";

export interface ChildInit {
  /**
   * Major version of Node for the process: `24` or `26`, which are dependencies of the benches, or the running version.
   */
  readonly node?: string | undefined;
  /** Largest heap of the process, in megabytes. @defaultValue that of Node */
  readonly heapMb?: number | undefined;
  /** The only core that all threads of the process may use. Linux only. */
  readonly cpu?: number | undefined;
}

export interface ProcessesInit extends ChildInit {
  /** Delay before the sink responds to a request with runs, milliseconds. */
  readonly sinkDelayMs?: number;
}

/**
 * Starts a sink, runs a child with the request that `createRequest` creates for the sink's address, and returns the result.
 */
export async function measureInProcess<Result>(
  name: ChildName,
  createRequest: (endpoint: string) => object,
  { sinkDelayMs = 0, ...init }: ProcessesInit = {},
): Promise<Result> {
  return withSink((endpoint) => runChild<Result>(name, createRequest(endpoint), init), {
    cpu: init.cpu,
    sinkDelayMs,
  });
}

/** Starts a sink, calls `measure` with its address, and ends the sink. */
export async function withSink<Result>(
  measure: (endpoint: string) => Promise<Result>,
  { cpu, sinkDelayMs = 0 }: Pick<ProcessesInit, "cpu" | "sinkDelayMs"> = {},
): Promise<Result> {
  // If the client is pinned to a core, the sink runs on the next one, so that it takes no CPU time from the client.
  const init = cpu === undefined ? {} : { cpu: (cpu + 1) % availableParallelism() };
  return withServer("sink", measure, { ...init, args: [String(sinkDelayMs)] });
}

/** Starts a server in a process of its own, calls `measure` with its address, and ends the process. */
export async function withServer<Result>(
  name: ChildName,
  measure: (address: string) => Promise<Result>,
  { args = [], ...init }: ChildInit & { readonly args?: readonly string[] } = {},
): Promise<Result> {
  const server = await startChild(name, args, init);
  try {
    return await measure((await nextMessage(server)) as string);
  } finally {
    server.kill();
  }
}

/** Runs a child with a request and returns its result. */
export const runChild = async <Result>(
  name: ChildName,
  request: object,
  init: ChildInit = {},
): Promise<Result> => withChild(name, init, async (ask) => (await ask(request)) as Result);

/** Sends a message to a child and returns the child's reply. */
export type Ask = (message: object | string) => Promise<unknown>;

/** Starts a child, calls `converse`, which may send it several messages, and ends the child. */
export async function withChild<Result>(
  name: ChildName,
  init: ChildInit,
  converse: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const child = await startChild(name, [], init);
  try {
    return await converse((message) => {
      child.send(message);
      return nextMessage(child);
    });
  } finally {
    child.kill();
  }
}

/** Starts a child with plain Node. A TypeScript loader would be part of the measurement. */
async function startChild(
  name: ChildName,
  args: readonly string[],
  { node, cpu, heapMb }: ChildInit,
): Promise<ChildProcess> {
  const heap = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
  const command = [nodePath(node), ...heap, await bundleChild(name), ...args];
  const pinned = cpu === undefined ? command : ["taskset", "-c", String(cpu), ...command];
  const [file = "", ...commandArgs] = pinned;
  return spawn(file, commandArgs, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: cleanEnvironment(),
  });
}

/** The environment without variables that configure clients, so that only the options of the driver count. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const clientVariables =
    /^(?:(?:LANGSMITH|LANGCHAIN|LANGFUSE|BRAINTRUST|OTEL|MILLRACE)_|NODE_OPTIONS$)/;
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !clientVariables.test(name)),
  );
}

export const nodePath = (node: string | undefined): string =>
  node === undefined || process.version.startsWith(`v${node}.`)
    ? process.execPath
    : fileURLToPath(new URL(`node_modules/node${node}/bin/node`, import.meta.url));

/** Waits for the next message of a child. Throws if the process ends without one. */
async function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      child.off("disconnect", onEnd);
      resolve(message);
    };
    // Wait for `disconnect`, because `exit` may be emitted before the child's last message is received.
    const onEnd = (): void => {
      child.off("message", onMessage);
      reject(new Error(`A process of the bench ended early: ${child.spawnargs.join(" ")}`));
    };
    child.once("message", onMessage);
    child.once("disconnect", onEnd);
  });
}
