/** A client under measurement in a process of its own, its sink in another. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { bundled } from "./bundle.ts";
import type { ChildName } from "./bundle.ts";

export interface ChildInit {
  /** `24` or `26`: run it under that Node, as the bench's dependencies have it; or the version that runs the bench. */
  readonly node?: string | undefined;
  /** The one core that it may use, all its threads together. Linux only. */
  readonly cpu?: number | undefined;
}

export interface ProcessesInit extends ChildInit {
  /** Milliseconds after which the sink answers a request that carries runs. */
  readonly sinkDelayMs?: number;
}

/** Runs a child with what `orderFor` makes of the address of a sink of its own; its answer. */
export async function measureIn<Answer>(
  name: ChildName,
  orderFor: (endpoint: string) => object,
  { sinkDelayMs = 0, ...init }: ProcessesInit = {},
): Promise<Answer> {
  const { cpu } = init;
  // With one core for the client, the sink has the next, or the first: it takes nothing of what is measured.
  const sink = await start(
    "sink",
    [String(sinkDelayMs)],
    cpu === undefined ? {} : { cpu: (cpu + 1) % availableParallelism() },
  );
  try {
    return await askChild(name, orderFor((await messageOf(sink)) as string), init);
  } finally {
    sink.kill();
  }
}

/** Runs a child with an order; its answer. */
export async function askChild<Answer>(
  name: ChildName,
  order: object,
  init: ChildInit = {},
): Promise<Answer> {
  const child = await start(name, [], init);
  try {
    child.send(order);
    return (await messageOf(child)) as Answer;
  } finally {
    child.kill();
  }
}

/** Plain Node, without a loader: what is measured is the client. */
async function start(
  name: ChildName,
  args: readonly string[],
  { node, cpu }: ChildInit,
): Promise<ChildProcess> {
  const command = [nodeOf(node), await bundled(name), ...args];
  const pinned = cpu === undefined ? command : ["taskset", "-c", String(cpu), ...command];
  const [file = "", ...rest] = pinned;
  return spawn(file, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"], env: quiet() });
}

/** Without what the environment may tell a client; what is measured are the options of the driver. */
function quiet(): NodeJS.ProcessEnv {
  const foreign = /^(?:(?:LANGSMITH|LANGCHAIN|LANGFUSE|BRAINTRUST|OTEL|MILLRACE)_|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

export const nodeOf = (node: string | undefined): string =>
  node === undefined || process.version.startsWith(`v${node}.`)
    ? process.execPath
    : fileURLToPath(new URL(`node_modules/node${node}/bin/node`, import.meta.url));

/** The next message; throws where the process ends without one. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  // Not its exit, which may be heard of before a long message that it sent last.
  const ended = once(child, "disconnect").then(() => {
    throw new Error(`A process of the bench ended early: ${child.spawnargs.join(" ")}`);
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as readonly unknown[];
  return message;
}
