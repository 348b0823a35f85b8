// Records conversations with one client in a separate process. repeated.bench.ts starts it.
import { createMillraceOnce } from "./drivers/millrace-once.ts";
import { createMillrace } from "./drivers/millrace.ts";
import { readMainNanos } from "./process-figures.ts";
import { createConversation } from "./states.ts";

export interface ConversationRequest {
  readonly endpoint: string;
  /** Requested when the measurement begins, so that the parent resets its byte count. */
  readonly startUrl: string;
  readonly driver: "millrace" | "millrace-once";
  readonly compression: "none" | "gzip";
  /** Whether each turn is delivered before the next begins, as in a chat, or all turns are recorded at once. */
  readonly pace: "by turns" | "at once";
  readonly conversations: number;
}

export interface ConversationResult {
  readonly mainMicros: number;
  readonly processMicros: number;
  readonly lost: number;
  /** For each conversation the ids of its runs: first the root's, then those of its turns. */
  readonly ids: readonly (readonly string[])[];
}

const warmupTurns = 40;
const payloads = createConversation();
const rootPayload = {
  name: "conversation",
  runType: "chain",
  inputs: {},
  outputs: {},
  metadata: {},
} as const;

process.once("message", (request: ConversationRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: ConversationRequest): Promise<void> {
  process.send?.(await measure(request));
  process.disconnect();
}

async function measure(request: ConversationRequest): Promise<ConversationResult> {
  const { endpoint, compression, pace, conversations } = request;
  const create = request.driver === "millrace" ? createMillrace : createMillraceOnce;
  const driver = create({ endpoint, requestRuns: 100, hasLargeQueue: true }, { compression });
  const recordConversation = async (turns: number): Promise<readonly string[]> => {
    const root = driver.start(undefined, rootPayload);
    const ids = [driver.id(root)];
    for (const payload of payloads.slice(0, turns)) {
      const run = driver.start(root, payload);
      driver.end(run, payload);
      ids.push(driver.id(run));
      if (pace === "by turns") {
        await driver.flush();
      }
    }
    driver.end(root, rootPayload);
    await driver.flush();
    return ids;
  };
  // Warm up. Afterwards the client has also read the server's capabilities.
  await recordConversation(warmupTurns);
  await recordConversation(warmupTurns);
  await fetch(request.startUrl);
  const cpuBefore = process.cpuUsage();
  const mainBefore = readMainNanos();
  const ids: (readonly string[])[] = [];
  for (let count = 0; count < conversations; count++) {
    ids.push(await recordConversation(payloads.length));
  }
  const mainSpentNanos = readMainNanos() - mainBefore;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { lost } = driver.stats();
  await driver.close();
  const runs = ids.flat().length;
  return {
    mainMicros: mainSpentNanos / 1_000 / runs,
    processMicros: (user + system) / runs,
    lost,
    ids,
  };
}
