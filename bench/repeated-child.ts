// One client that records conversations, in a process of its own: forked by repeated.bench.ts.
import { createMillraceOnce } from "./drivers/millrace-once.ts";
import { createMillrace } from "./drivers/millrace.ts";
import { mainNanos } from "./process-figures.ts";
import { createConversation } from "./states.ts";

export interface ConversationOrder {
  readonly endpoint: string;
  /** Asked when the measurement begins. */
  readonly markUrl: string;
  readonly driver: "millrace" | "millrace-once";
  readonly compression: "none" | "gzip";
  /** Whether each turn is sent before the next begins, as in a chat, or all are recorded at once. */
  readonly pace: "by turns" | "at once";
  readonly conversations: number;
}

export interface ConversationAnswer {
  readonly mainMicros: number;
  readonly processMicros: number;
  readonly lost: number;
  /** Of each conversation, the ids of its runs: the root's, then those of its turns. */
  readonly ids: readonly (readonly string[])[];
}

const warmupTurns = 40;
const payloads = createConversation();
const question = {
  name: "conversation",
  runType: "chain",
  inputs: {},
  outputs: {},
  metadata: {},
} as const;

process.once("message", (order: ConversationOrder) => {
  // A rejection ends the process, and the parent sees that.
  void answer(order);
});

async function answer(order: ConversationOrder): Promise<void> {
  process.send?.(await measure(order));
  process.disconnect();
}

async function measure(order: ConversationOrder): Promise<ConversationAnswer> {
  const { endpoint, compression, pace, conversations } = order;
  const create = order.driver === "millrace" ? createMillrace : createMillraceOnce;
  const driver = create({ endpoint, requestRuns: 100, roomy: true }, { compression });
  const converse = async (turns: number): Promise<readonly string[]> => {
    const root = driver.start(undefined, question);
    const ids = [driver.id(root)];
    for (const payload of payloads.slice(0, turns)) {
      const run = driver.start(root, payload);
      driver.end(run, payload);
      ids.push(driver.id(run));
      if (pace === "by turns") {
        await driver.flush();
      }
    }
    driver.end(root, question);
    await driver.flush();
    return ids;
  };
  // By its end the client has asked what the server can.
  await converse(warmupTurns);
  await converse(warmupTurns);
  await fetch(order.markUrl);
  const cpu = process.cpuUsage();
  const main = mainNanos();
  const ids: (readonly string[])[] = [];
  for (let count = 0; count < conversations; count++) {
    ids.push(await converse(payloads.length));
  }
  const mainSpent = mainNanos() - main;
  const { user, system } = process.cpuUsage(cpu);
  const { lost } = driver.stats();
  await driver.close();
  const runs = ids.flat().length;
  return {
    mainMicros: mainSpent / 1_000 / runs,
    processMicros: (user + system) / runs,
    lost,
    ids,
  };
}
