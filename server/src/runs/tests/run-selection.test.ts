import { expect, test } from "vitest";
import { call, runServer } from "../../../tests/support/running-server.ts";
import { boundary, multipart, someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

type Member = Readonly<Record<string, unknown>>;

/** A trace whose runs differ in every member that a run can have. */
async function fillTrace(server: Awaited<ReturnType<typeof runServer>>) {
  const root = wireRun({
    name: 'the "root" \u00e9\ud83d\ude00',
    start_time: someMicros / 1_000,
    end_time: someMicros / 1_000 + 2_000,
    session_name: "of a selection \u00e9",
    inputs: { question: "q\u00e9" },
    outputs: { answer: "a".repeat(5_000), usage_metadata: { input_tokens: 3, output_tokens: 4 } },
    extra: { metadata: { session_id: "thread-1" } },
    tags: ["one"],
    events: [{ name: "new_token", time: "2026-11-21T10:11:12.9Z" }],
    of_its_own: { kept: true },
  });
  const failed = wireRun({ parent: root, micros: someMicros + 5, name: "f", error: "Error: x" });
  const open = wireRun({ parent: failed, micros: someMicros + 9, name: "\ud800 half a letter" });
  await call(server, "POST /runs/batch", { body: { post: [root, failed, open] } });
  const body = multipart([
    { name: `attachment.${root.id}.picture`, body: "png", contentType: "image/png" },
  ]);
  const type = `multipart/form-data; boundary=${boundary}`;
  await call(server, "POST /runs/multipart", { body, headers: { "content-type": type } });
  await call(server, "POST /feedback", { body: { run_id: root.id, key: "k", score: 1 } });
  await call(server, `PUT /runs/${root.id}/share`);
  return { trace: root.id };
}

/** Signed URLs contain a time, so replace each by the file that it refers to. */
const withoutTimes = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown) => {
    const [, token] = /attachments\?token=([^.]+)/.exec(String(value)) ?? [];
    return token === undefined
      ? value
      : (JSON.parse(Buffer.from(token, "base64url").toString()) as { target: object }).target;
  });

test("a member selected alone equals the same member of the whole run, however the run is found", async () => {
  const server = await runServer();
  const { trace } = await fillTrace(server);
  const read = async (body: object): Promise<readonly Member[]> => {
    const { text } = await call(server, "POST /runs/query", { body: { order: "asc", ...body } });
    return (withoutTimes(text) as { runs: readonly Member[] }).runs;
  };
  const whole = await read({ trace });
  expect(whole).toHaveLength(3);
  const names = Object.keys(whole[0] ?? {});
  expect(names).toEqual(expect.arrayContaining(["of_its_own", "total_tokens", "thread_id"]));
  const id = whole.map((run) => run["id"]);
  for (const name of names) {
    const alone = whole.map((run) => ({ id: run["id"], [name]: run[name] }));
    const select = [name];
    // Child ids are only returned if they are selected, so they are ignored in the comparison.
    const shown = (runs: readonly Member[]) =>
      name.endsWith("child_run_ids") ? runs.map((run) => ({ ...run, [name]: null })) : runs;
    expect(shown(await read({ trace, select }))).toEqual(alone);
    expect(shown(await read({ id, select }))).toEqual(alone);
  }
});

test("child ids of a run are returned if they are selected alone", async () => {
  const server = await runServer();
  const { trace } = await fillTrace(server);
  const select = ["child_run_ids", "direct_child_run_ids"];
  const { json } = await call(server, "POST /runs/query", {
    body: { trace, select, order: "asc" },
  });
  const [root, failed, open] = json["runs"] as unknown as readonly Member[];
  expect(root).toEqual({
    id: trace,
    child_run_ids: [failed?.["id"], open?.["id"]],
    direct_child_run_ids: [failed?.["id"]],
  });
  expect(open).toMatchObject({ child_run_ids: [], direct_child_run_ids: [] });
});
