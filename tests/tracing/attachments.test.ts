import * as fc from "fast-check";
import { expect, test } from "vitest";
import { addAttachments } from "../../src/workers/json/attachments.ts";
import { joinRecords } from "../../src/workers/json/operations.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { createTestBatcher, runsOf } from "../support/batching.ts";
import { encodeWire } from "../../src/tracing/tape/record-encoder.ts";

const id = "00000000-0000-4000-8000-000000000002";
const position = { id, trace_id: id, dotted_order: `20260102T030405000006Z${id}` };

const name = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9 _-]{1,40}$/),
  fc.constantFrom("漢字", "ünï", "__proto__", "constructor", "x".repeat(128)),
);
const attachments = fc.dictionary(
  name,
  fc.tuple(
    fc.constantFrom("image/png", "text/plain; charset=utf-8", "application/vnd.x+json"),
    fc.uint8Array({ maxLength: 9_000 }),
  ),
  { maxKeys: 4 },
);

type Files = Readonly<Record<string, readonly [string, Uint8Array]>>;

test("attachments of a start and an end arrive joined, on tapes of any size; those of the end override", async () => {
  await fc.assert(
    fc.asyncProperty(
      attachments,
      attachments,
      fc.integer({ min: 128, max: 20_000 }),
      async (first: Files, second: Files, tapeBytes) => {
        const { batcher, ledger } = createTestBatcher({
          tapeBytes,
          maxQueueBytes: 10_000_000,
          maxTapesInFlight: 100,
          maxBytesInFlight: 10_000_000,
          attachments: { attachmentBytes: 1_000_000, dangerouslyAllowFilesystem: false },
        });
        for (const [operation, run] of [
          ["post", { ...position, inputs: { q: 1 }, attachments: first }],
          ["patch", { ...position, outputs: { a: 2 }, attachments: second }],
        ] as const) {
          batcher.record(encodeWire, { operation, id, run, projectName: "p" });
        }
        const tapes = batcher.takeAll().waiting.map(({ tape }) => tape);
        const found = new Map<string, [string, string]>();
        for (const { memory, usedBytes } of tapes) {
          const reader = new TapeReader(memory, usedBytes);
          const rules = { areAllowed: false, limitBytes: 0 };
          for (const run of await addAttachments(reader, joinRecords(reader), rules)) {
            for (const file of run.attachments ?? []) {
              const chunks: Uint8Array[] = [];
              for await (const chunk of file.openContent()) {
                chunks.push(chunk);
              }
              found.set(file.name, [file.mimeType, Buffer.concat(chunks).toString("base64")]);
            }
          }
        }
        const expected = new Map(
          [...Object.entries(first), ...Object.entries(second)].map(([key, [type, data]]) => [
            key,
            [type, Buffer.from(data).toString("base64")],
          ]),
        );
        expect(found).toEqual(expected);
        expect(Object.assign({}, ...tapes.flatMap(runsOf))).toMatchObject({
          inputs: { q: 1 },
          outputs: { a: 2 },
        });
        expect(ledger).toMatchObject({ accepted: 2, truncated: 0, totalLost: 0 });
      },
    ),
    { numRuns: 150 },
  );
});
