import { getCurrentRunTree, traceable } from "langsmith/traceable";
import { describe, expect, test } from "vitest";
import type { Run } from "../../src/main/index.ts";
import { LangsmithTestServer, unique } from "./langsmith/test-server.ts";
import { newVersions } from "./langsmith/methods.ts";
import { unusualText } from "./langsmith/traces.ts";

const testServer = new LangsmithTestServer("multipart");

const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 255, 0, 1]);

/** The bytes of a run's attachment, fetched without a key from its address. */
async function attachmentOf(run: Run, name: string) {
  const response = await fetch(run.attachments![name]!.presignedUrl);
  return {
    type: response.headers.get("content-type"),
    bytes: new Uint8Array(await response.arrayBuffer()),
  };
}

describe("multipart requests of langsmith 0.10", () => {
  test.each(newVersions)("attachments of a run are read back byte for byte (%s)", async (newer) => {
    const client = testServer.newest(newer);
    const project = unique("attachments");
    const describePicture = traceable(
      (picture: Uint8Array, question: string) => `${question} ${picture.byteLength} bytes`,
      {
        client,
        project_name: project,
        tracingEnabled: true,
        name: "describe",
        extractAttachments: (picture: Uint8Array, question: string) => [
          { picture: ["image/png", picture], note: { mimeType: "text/plain", data: png } },
          { question },
        ],
      },
    );
    await describePicture(png, "What is it?");
    await client.awaitPendingTraceBatches();
    const [run] = await testServer.runsOf(project);
    expect(run).toMatchObject({
      inputs: { question: "What is it?" },
      outputs: { outputs: "What is it? 12 bytes" },
    });
    const read = await testServer.reader.runs.read(run!.id);
    expect(await attachmentOf(read, "picture")).toEqual({ type: "image/png", bytes: png });
    expect((await attachmentOf(read, "note")).bytes).toEqual(png);
  });

  test.each(newVersions)("a manually built multipart request is accepted (%s)", async (newer) => {
    const client = testServer.newest(newer);
    const project = unique("multipart");
    const id = crypto.randomUUID();
    const position = { id, trace_id: id, dotted_order: `20260102T030405678000Z${id}` };
    await client.multipartIngestRuns({
      runCreates: [
        {
          ...position,
          name: "by hand",
          run_type: "tool",
          inputs: { question: unusualText },
          session_name: project,
          start_time: "2026-01-02T03:04:05.678901Z",
          attachments: { picture: ["image/png", png] },
        },
      ],
      runUpdates: [],
    });
    await client.multipartIngestRuns(
      { runUpdates: [{ ...position, outputs: { answer: 42 }, end_time: "2026-01-02T03:04:06Z" }] },
      { useGzip: true },
    );
    const run = await testServer.reader.runs.read(id);
    expect(run).toMatchObject({ inputs: { question: unusualText }, outputs: { answer: 42 } });
    expect(String(run.startTime)).toContain("03:04:05.678901");
    expect((await attachmentOf(run, "picture")).bytes).toEqual(png);
  });

  test.each(newVersions)("in manual mode nothing is sent until flush (%s)", async (newer) => {
    const client = testServer.newest(newer, { manualFlushMode: true });
    const project = unique("manual");
    const work = traceable(() => getCurrentRunTree().id, {
      client,
      project_name: project,
      tracingEnabled: true,
    });
    const id = await work();
    expect(await testServer.reader.projects.has({ projectName: project })).toBe(false);
    await client.flush();
    expect((await testServer.runsOf(project)).map((run) => run.id)).toEqual([id]);
  });
});

testServer.expectAllCalled();
