import { setTimeout as timer } from "node:timers/promises";
import { Client, NotFoundError } from "millrace";
import { shown } from "./check.ts";
import type { Check } from "./check.ts";
import { messageOf } from "./network-checks.ts";
import type { Settings } from "./settings.ts";

const limitMs = 8_000;
const pauseMs = 100;

/** Records a run as a program does, and reads it back. */
export async function checkRun(
  { endpoint, apiKey, enabled }: Settings,
  project: string,
): Promise<Check> {
  const name = "run";
  if (enabled !== undefined && /^(?:false|0|no|off)$/i.test(enabled.value)) {
    return {
      name,
      status: "warning",
      found: `${enabled.from} is ${enabled.value}: nothing is recorded`,
      todo: `Unset ${enabled.from}, or set it to true.`,
    };
  }
  const beganAt = performance.now();
  let client: Client | undefined;
  const hints: string[] = [];
  try {
    client = new Client({
      endpoint: endpoint.value,
      ...(apiKey === undefined ? {} : { apiKey: apiKey.value }),
      projectName: project,
      enabled: true,
      samplingRate: 1,
      attempts: 2,
      timeoutMs: limitMs / 2,
      logger: { warn: (message) => void hints.push(message) },
    });
    const run = client.startRun({ name: "millrace doctor", inputs: { question: "ping" } });
    run.end({ answer: "pong" });
    await client.flush({ timeoutMs: limitMs });
    await readBack(client, run.id);
    const took = Math.round(performance.now() - beganAt);
    return {
      name,
      status: "ok",
      found: `sent to project ${shown(project)} and read back in ${took} ms`,
    };
  } catch (error) {
    const [hint = ""] = hints;
    return {
      name,
      status: "failed",
      found: concealed(
        shown(`not sent and read back: ${messageOf(error)} ${hint}`, 400),
        apiKey?.value,
      ),
      todo: "Look at the checks above; a server that is busy may also need longer.",
    };
  } finally {
    await client?.close({ timeoutMs: 0 });
  }
}

async function readBack(client: Client, id: string): Promise<void> {
  const signal = AbortSignal.timeout(limitMs);
  for (;;) {
    try {
      await client.runs.read(id, { signal });
      return;
    } catch (error) {
      if (!(error instanceof NotFoundError)) {
        throw error;
      }
    }
    await timer(pauseMs, undefined, { signal });
  }
}

const concealed = (text: string, key: string | undefined): string =>
  key === undefined ? text : text.replaceAll(key, "[hidden]");
