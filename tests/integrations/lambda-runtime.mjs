// A Lambda environment: one line of standard input is an event, one line of standard output its response. Right after it
// has written a response, the process is stopped or killed, as Lambda freezes or discards it: nothing of it runs after that.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Client, traceable } from "millrace";
import { traceHandler } from "millrace/lambda";

const { FORM: form, SIGNAL: signal, ENDPOINT: endpoint } = process.env;
const client = new Client({ endpoint, projectName: "lambda" });
const ask = traceable(async (question) => `${String(question)}!`, { name: "ask", client });

const answer = async (question, callback) => {
  callback(null, { answer: await ask(question) });
};

const handlers = {
  promise: async ({ question }) => ({ answer: await ask(question) }),
  callback: ({ question }, _context, callback) => void answer(question, callback),
  error: async ({ question }) => {
    throw new TypeError(await ask(question));
  },
};
const handler = traceHandler(handlers[form]);

const respond = (response) => {
  writeSync(1, `${JSON.stringify(response)}\n`);
  process.kill(process.pid, signal);
};

for await (const line of createInterface({ input: process.stdin })) {
  const context = { functionName: "ask", getRemainingTimeInMillis: () => 10_000 };
  const callback = (error, response) =>
    respond(error === null ? response : { error: String(error) });
  const returned = handler(JSON.parse(line), context, callback);
  returned?.then(respond, (error) => respond({ error: String(error) }));
}
