/** A client under measurement in a process of its own, its sink in another. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface ProcessesInit {
  /** Milliseconds after which the sink answers a request that carries runs. */
  readonly sinkDelayMs?: number;
  /** `24` or `26`: run the client under that Node, as the bench's dependencies have it. */
  readonly node?: string | undefined;
}

/** Runs `script` (a file beside this one) with what `orderFor` makes of the sink's address; its answer. */
export async function measureIn<Answer>(
  script: string,
  orderFor: (endpoint: string) => object,
  { sinkDelayMs = 0, node }: ProcessesInit = {},
): Promise<Answer> {
  const sink = fork(new URL("sink.ts", import.meta.url), [String(sinkDelayMs)]);
  const child = fork(new URL(script, import.meta.url), { ...execPathOf(node), env: quiet() });
  try {
    child.send(orderFor((await messageOf(sink)) as string));
    return (await messageOf(child)) as Answer;
  } finally {
    child.kill();
    sink.kill();
  }
}

/** Without what the environment may tell a client; what is measured are the options of the driver. */
function quiet(): NodeJS.ProcessEnv {
  const foreign = /^(?:LANGSMITH|LANGCHAIN|LANGFUSE|BRAINTRUST|OTEL|MILLRACE)_/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

const execPathOf = (node: string | undefined): { readonly execPath?: string } =>
  node === undefined
    ? {}
    : { execPath: fileURLToPath(new URL(`node_modules/node${node}/bin/node`, import.meta.url)) };

/** The next message; throws where the process ends without one. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, "exit").then(() => {
    throw new Error(`A process of the bench ended early: ${child.spawnargs.join(" ")}`);
  });
  const [message] = (await Promise.race([once(child, "message"), ended])) as readonly unknown[];
  return message;
}
