import { setTimeout as sleep } from "node:timers/promises";
import { Client, NotFoundError } from "millrace";
import { toPrintable } from "../to-printable.ts";
import type { Check } from "./check.ts";
import { readErrorMessage } from "./network-checks.ts";
import type { Settings } from "../local-server/settings.ts";

const runCheckTimeoutMs = 8_000;
const pollIntervalMs = 100;

/** Records a run as a program would, and reads it back. */
export async function checkRun(
  { endpoint, apiKey, enabled }: Settings,
  project: string,
): Promise<Check> {
  const name = "run";
  if (enabled !== undefined && /^(?:false|0|no|off)$/i.test(enabled.value)) {
    return {
      name,
      status: "warning",
      found: `${enabled.source} is ${enabled.value}: nothing is recorded`,
      todo: `Unset ${enabled.source}, or set it to true.`,
    };
  }
  const startedAt = performance.now();
  let client: Client | undefined;
  const warnings: string[] = [];
  try {
    client = new Client({
      endpoint: endpoint.value,
      ...(apiKey === undefined ? {} : { apiKey: apiKey.value }),
      projectName: project,
      enabled: true,
      samplingRate: 1,
      attempts: 2,
      timeoutMs: runCheckTimeoutMs / 2,
      logger: { warn: (message) => void warnings.push(message) },
    });
    const run = client.startRun({ name: "millrace doctor", inputs: { question: "ping" } });
    run.end({ answer: "pong" });
    await client.flush({ timeoutMs: runCheckTimeoutMs });
    await readBack(client, run.id);
    const durationMs = Math.round(performance.now() - startedAt);
    return {
      name,
      status: "ok",
      found: `sent to project ${toPrintable(project)} and read back in ${durationMs} ms`,
    };
  } catch (error) {
    const [warning = ""] = warnings;
    return {
      name,
      status: "failed",
      found: hideKey(
        toPrintable(
          `failed to send a run and read it back: ${readErrorMessage(error)} ${warning}`,
          400,
        ),
        apiKey?.value,
      ),
      todo: "See the checks above. If the server is busy, try again later.",
    };
  } finally {
    await client?.close({ timeoutMs: 0 });
  }
}

async function readBack(client: Client, id: string): Promise<void> {
  const signal = AbortSignal.timeout(runCheckTimeoutMs);
  for (;;) {
    try {
      await client.runs.read(id, { signal });
      return;
    } catch (error) {
      if (!(error instanceof NotFoundError)) {
        throw error;
      }
    }
    await sleep(pollIntervalMs, undefined, { signal });
  }
}

const hideKey = (text: string, key: string | undefined): string =>
  key === undefined ? text : text.replaceAll(key, "[hidden]");
