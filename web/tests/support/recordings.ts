import type { Client, RunTree } from "millrace";

const start = Date.parse("2026-03-01T12:00:00Z");

/** Records a trace with a question and an answer, or with a failure instead. Returns the trace's id. */
export async function recordAnswer(client: Client, result: "answer" | "fail" = "answer") {
  const question = { question: "How do I set a timeout?" };
  const startMs = Date.now() - 230;
  const root = client.startRun({ name: "ask", inputs: question, startTime: startMs });
  const child = (
    name: string,
    runType: "retriever" | "prompt" | "llm" | "parser",
    fromMs: number,
  ) => root.startChild({ name, runType, inputs: question, startTime: startMs + fromMs });
  const documents = [{ title: "Options", text: "timeoutMs: longest wait for one response." }];
  child("search", "retriever", 2).end({ documents }, { endTime: startMs + 64 });
  const messages = [
    { role: "system", content: "Answer from the documents." },
    { role: "user", content: question.question },
  ];
  child("assemble-prompt", "prompt", 65).end({ messages }, { endTime: startMs + 71 });
  const model = root.startChild({
    name: "answer",
    runType: "llm",
    inputs: { messages },
    metadata: { model: "small-1", temperature: 0 },
    tags: ["cached"],
    startTime: startMs + 72,
  });
  if (result === "fail") {
    model.fail(new TypeError("the model did not answer within 150 ms"));
    root.fail(new TypeError("the model did not answer within 150 ms"));
  } else {
    model.addEvent({ name: "new_token", kwargs: { token: "Set" } });
    model.end({ text: "Set timeoutMs." }, { endTime: startMs + 205 });
    child("parse-answer", "parser", 206).end({ cites: ["Options"] }, { endTime: startMs + 214 });
    root.end({ answer: "Set timeoutMs.", cites: ["Options"] }, { endTime: startMs + 216 });
  }
  await client.flush();
  return root.id;
}

/** Records root runs named `many 0`, `many 1` and so on, which start one second apart. */
export async function recordMany(client: Client, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    endAt(
      client.startRun({ name: `many ${index}`, startTime: start + index * 1_000 }),
      start + index * 1_000 + 5,
    );
  }
  await client.flush();
}

/** Records texts that would run scripts or reorder text if they were not escaped. */
export async function recordHostile(client: Client): Promise<string> {
  const root = client.startRun({
    name: "<script>alert(0)</script>\u202Egnp.exe",
    inputs: { html: "<img src=x onerror=alert(1)>", link: "javascript:alert(2)" },
    tags: ["</pre><script>alert(3)</script>"],
    metadata: { "<b>": "&lt;", mark: "\u2067right to left" },
  });
  root.fail(new Error("<svg onload=alert(4)>"));
  await client.flush();
  return root.id;
}

/** Records one trace of `count` runs: a root and numbered steps. */
export async function recordLarge(client: Client, count: number): Promise<string> {
  const root = client.startRun({ name: "large", startTime: start });
  for (let index = 1; index < count; index += 1) {
    endAt(root.startChild({ name: `step ${index}`, startTime: start + index }), start + index + 1);
  }
  endAt(root, start + count);
  await client.flush();
  return root.id;
}

const endAt = (run: RunTree, endTime: number): void => run.end({}, { endTime });
