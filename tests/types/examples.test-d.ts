import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { expectTypeOf, test } from "vitest";
import type { CreatedExamples, NewExample } from "../../src/api/datasets/example-options.ts";
import type { Examples } from "../../src/api/datasets/examples.ts";
import type { Pages } from "../../src/api/http/pages.ts";
import type { Example } from "../../src/model/resources/example.ts";

declare const examples: Examples;
declare const signal: AbortSignal;
declare const some: NewExample;
const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

test("an example is of one dataset", () => {
  expectTypeOf(examples.create({ datasetId: id, inputs: {} })).toEqualTypeOf<Promise<Example>>();
  expectTypeOf(examples.list({ datasetName: "d", signal })).toEqualTypeOf<Pages<Example>>();
  // @ts-expect-error only one of the two is allowed
  void examples.create({ datasetId: id, datasetName: "d", inputs: {} });
  // @ts-expect-error one of the two is required
  void examples.list({});
});

test("a new example needs inputs, or a run to take them from", () => {
  const sourceRunId = id;
  expectTypeOf(
    examples.create({ datasetName: "d", sourceRunId, useSourceRunIo: true }),
  ).toEqualTypeOf<Promise<Example>>();
  void examples.create({ datasetName: "d", inputs: { q: 1 }, sourceRunId, useSourceRunIo: false });
  // @ts-expect-error neither inputs nor a run
  void examples.create({ datasetName: "d" });
  // @ts-expect-error the inputs of the run are not taken unless that is asked for
  void examples.create({ datasetName: "d", sourceRunId });
  // @ts-expect-error inputs that may be missing
  void examples.create({ datasetName: "d", ...some });
  // Rows without inputs are rejected one by one, so their type allows them.
  void examples.upload([1], { datasetName: "d", toExample: () => some });
});

test("many come from whatever can be iterated", () => {
  expectTypeOf(examples.createMany({ datasetId: id, examples: [some] })).toEqualTypeOf<
    Promise<CreatedExamples>
  >();
  void examples.createMany({ datasetId: id, examples: new Set([some]) });
  async function* stream() {
    yield some;
  }
  void examples.createMany({ datasetId: id, examples: stream() });
  // @ts-expect-error items must be examples
  void examples.createMany({ datasetId: id, examples: [1] });
  // @ts-expect-error an update needs the id of its example
  void examples.updateMany({ examples: [{ inputs: {} }] });
});

test("a chat takes LangChain's messages and the platform's", () => {
  const created = examples.createChat({
    datasetId: id,
    messages: [new HumanMessage("hi"), { role: "system", content: "be kind" }],
    answer: new AIMessage("ho"),
  });
  expectTypeOf(created).toEqualTypeOf<Promise<Example>>();
  // @ts-expect-error a string is not a message
  void examples.createChat({ datasetId: id, messages: ["hi"] });
  // @ts-expect-error the inputs are derived from the messages
  void examples.createChat({ datasetId: id, messages: [], inputs: {} });
});

test("an attachment is bytes with a type; read, it is an address", async () => {
  const data = new Uint8Array();
  void examples.update(id, { attachments: { a: { mimeType: "image/png", data } } });
  // @ts-expect-error a MIME type is required
  void examples.update(id, { attachments: { a: { data } } });
  // @ts-expect-error data must be bytes
  void examples.update(id, { attachments: { a: { mimeType: "text/plain", data: "t" } } });
  const { attachments = {} } = await examples.read(id);
  for (const attachment of Object.values(attachments)) {
    expectTypeOf(attachment.presignedUrl).toEqualTypeOf<string>();
    expectTypeOf(examples.readAttachment(attachment, { signal })).toEqualTypeOf<
      Promise<Uint8Array>
    >();
  }
});

test("what is handed out can't be written", async () => {
  const example = await examples.read(id);
  expectTypeOf(example.splits).toEqualTypeOf<readonly string[]>();
  // @ts-expect-error read only
  example.inputs = {};
});
