import { expect, test } from "vitest";
import { call, runServer, textOf } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

test("a call that would group too many traces is refused with what it can do to read fewer", async () => {
  const server = await runServer();
  const extra = { metadata: { thread_id: "talk" } };
  for (const start of [0, 5_001]) {
    const post = Array.from({ length: 5_001 }, (_, index) =>
      wireRun({ micros: someMicros + start + index, session_name: "p", extra }),
    );
    await call(server, "POST /runs/batch", { body: { post } });
  }
  const { json: projects } = await call(server, "GET /sessions?name=p");
  const projectId = textOf(projects[0]?.["id"]);
  const read = async (target: string, body?: object): Promise<unknown> => {
    const { status, json } = await call(server, target, { body });
    return status === 200 ? json : [status, json["detail"]];
  };

  const range = { project_id: projectId, min_start_time: "2020-01-01T00:00:00Z" };
  const narrow = [
    422,
    "the time range has more than 10000 traces: narrow it with min_start_time and max_start_time",
  ];
  expect(await read("POST /api/v2/threads/query", range)).toEqual(narrow);
  const select = ["TRACE_COUNT"];
  expect(await read("POST /api/v2/threads/stats", { ...range, select })).toEqual(narrow);

  const stats = `GET /api/v2/threads/talk/stats?session_id=${projectId}&selects=TURNS`;
  expect(await read(stats)).toEqual([
    422,
    "more than 10000 traces of the thread match: pass a filter that selects fewer, such as start_time > 2026-01-31",
  ]);
  const filter = encodeURIComponent("start_time > 2026-12-31");
  expect(await read(`${stats}&filter=${filter}`)).toEqual({ turns: 0 });

  const traces = `GET /api/v2/threads/talk/traces?project_id=${projectId}&page_size=1`;
  expect(await read(`${traces}&selects=NAME&selects=TURN_NUMBER`)).toEqual([
    422,
    "the thread has more than 10000 traces, too many to number them: remove TURN_NUMBER from selects",
  ]);
  expect(await read(`${traces}&selects=NAME`)).toMatchObject({ items: [{ name: "a run" }] });
});
