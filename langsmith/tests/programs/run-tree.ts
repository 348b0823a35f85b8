// Records traces by hand, with run trees: a support desk that answers a question through several steps, a failure, and a
// second process that continues the trace by its headers.
import { Client, RunTree } from "langsmith";
import type { RunTreeConfig } from "langsmith";
import { convertToDottedOrderFormat, isRunTree } from "langsmith/run_trees";
import type { Run } from "langsmith/schemas";

const client = new Client();

interface Ticket {
  readonly id: number;
  readonly text: string;
}

/** Answers a ticket: a retriever, a model and a check, each a child run. */
async function answerTicket(ticket: Ticket): Promise<RunTree> {
  const config: RunTreeConfig = {
    name: "answer ticket",
    run_type: "chain",
    inputs: { ticket },
    tags: ["support", "v2"],
    metadata: { customer: "acme", plan: { tier: 2 } },
    client,
  };
  const root = new RunTree(config);
  await root.postRun();
  const documents = await retrieve(root, ticket.text);
  const answer = await callModel(root, { question: ticket.text, documents });
  const isPolite = await check(root, answer);
  root.metadata = { polite: isPolite };
  root.addEvent("answered");
  root.addEvent({ name: "reviewed", kwargs: { by: "rule" } });
  await root.end({ answer, documents: documents.length });
  await root.patchRun();
  return root;
}

async function retrieve(parent: RunTree, query: string): Promise<string[]> {
  const run = parent.createChild({
    name: "search manual",
    run_type: "retriever",
    inputs: { query },
    extra: { metadata: { index: "manual" } },
  });
  await run.postRun();
  const documents = ["Restart it.", "Read the manual."];
  await run.end({
    documents: documents.map((page_content) => ({ page_content, type: "Document", metadata: {} })),
  });
  await run.patchRun();
  return documents;
}

async function callModel(
  parent: RunTree,
  { question, documents }: { question: string; documents: string[] },
): Promise<string> {
  const run = parent.createChild({
    name: "model",
    run_type: "llm",
    inputs: {
      messages: [
        { role: "system", content: documents.join(" ") },
        { role: "user", content: question },
      ],
    },
    extra: { metadata: { ls_provider: "none", ls_model_name: "rule-1" } },
  });
  await run.postRun();
  const answer = `Please restart it. (${question.length})`;
  const tokenizer = run.createChild({ name: "tokenize", run_type: "parser", inputs: { answer } });
  await tokenizer.postRun();
  await tokenizer.end({ tokens: answer.split(" ").length });
  await tokenizer.patchRun();
  await run.end({
    choices: [{ message: { role: "assistant", content: answer } }],
    usage_metadata: { input_tokens: 12, output_tokens: 5, total_tokens: 17 },
  });
  await run.patchRun();
  return answer;
}

async function check(parent: RunTree, answer: string): Promise<boolean> {
  const run = parent.createChild({ name: "check tone", run_type: "tool", inputs: { answer } });
  await run.postRun();
  const isPolite = /please/i.test(answer);
  await run.end({ isPolite });
  await run.patchRun();
  return isPolite;
}

/** A run whose tool fails. The error is recorded on both. */
async function failingTicket(): Promise<void> {
  const root = new RunTree({ name: "failing ticket", inputs: { id: 7 }, client });
  await root.postRun();
  const tool = root.createChild({ name: "refund", run_type: "tool", inputs: { amount: 12.5 } });
  await tool.postRun();
  await tool.end(undefined, "RefundError: too late");
  await tool.patchRun();
  await root.end({ partial: true }, "RefundError: too late");
  await root.patchRun();
}

/** Continues a trace as another process would: from the headers of a request. */
async function continueRemotely(root: RunTree): Promise<void> {
  const headers = root.toHeaders();
  const names = Object.keys(headers);
  console.log("headers", names.toSorted().join(" "));
  const remote = RunTree.fromHeaders(headers, { name: "remote parent", client });
  if (remote === undefined) {
    throw new Error("The headers have no run.");
  }
  console.log("same trace", remote.trace_id === root.trace_id, remote.id === root.id);
  const child = remote.createChild({ name: "audit", run_type: "chain", inputs: { remote: true } });
  await child.postRun();
  await child.end({ audited: true });
  await child.patchRun();
  console.log("without headers", RunTree.fromHeaders({ accept: "text/plain" }));
}

/** A run with attachments, tags that are set late and an end in the past. */
async function attachFiles(): Promise<void> {
  const start = Date.UTC(2026, 2, 3, 4, 5, 6, 789);
  const run = new RunTree({
    name: "with files",
    run_type: "tool",
    inputs: { name: "chart" },
    start_time: start,
    attachments: {
      chart: ["image/png", new Uint8Array([137, 80, 78, 71])],
      note: { mimeType: "text/plain", data: new TextEncoder().encode("umbrella") },
    },
    client,
  });
  await run.postRun();
  run.tags = ["late"];
  await run.end({ ok: true }, undefined, start + 1_500);
  await run.patchRun();
  const { microsecondPrecisionDatestring } = convertToDottedOrderFormat(start, run.id);
  console.log("time", microsecondPrecisionDatestring, run.dotted_order.slice(0, 22));
}

/** A run that is sent once, complete. */
async function sendOnce(): Promise<void> {
  const run = new RunTree({
    name: "sent once",
    run_type: "parser",
    inputs: { text: "a,b" },
    outputs: { parts: ["a", "b"] },
    end_time: Date.now() + 5,
    metadata: { lone: "\ud800", astral: "😀" },
    client,
  });
  await run.postRun();
  const json = run.toJSON();
  console.log("json", json.name, json.run_type, JSON.stringify(json.outputs), isRunTree(run));
}

/** Reads a trace back, with its children. */
async function readBack(root: RunTree): Promise<void> {
  const run: Run = await client.readRun(root.id, { loadChildRuns: true });
  const lines: string[] = [];
  const visit = (item: Run, depth: number): void => {
    lines.push(`${"  ".repeat(depth)}${item.name} (${item.run_type})`);
    for (const child of item.child_runs ?? []) {
      visit(child, depth + 1);
    }
  };
  visit(run, 0);
  console.log(lines.join("\n"));
  const tools: string[] = [];
  for await (const tool of client.listRuns({
    projectName: root.project_name,
    runType: "tool",
    error: true,
  })) {
    tools.push(`${tool.name}: ${tool.error?.split("\n")[0]}`);
  }
  console.log("failed tools", tools);
}

const root = await answerTicket({ id: 1, text: "It does not start." });
await failingTicket();
await continueRemotely(root);
await attachFiles();
await sendOnce();
await client.awaitPendingTraceBatches();
await client.createFeedback(root.id, "helpful", { score: 1, comment: "It restarted." });
await readBack(root);
