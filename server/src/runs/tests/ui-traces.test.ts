import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";
import { call, runServer, textOf } from "../../../tests/support/running-server.ts";
import type { CallResult } from "../../../tests/support/running-server.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";

const at = (offset: number): string =>
  new Date(Date.parse("2026-11-21T10:11:12Z") + offset).toISOString().replace("Z", "000Z");

/** Ids in a fixed order, because pages are ordered by id. */
const idAt = (place: number): string =>
  `00000000-0000-4000-8000-${String(place).padStart(12, "0")}`;

const namesOf = ({ json }: CallResult): string[] =>
  (json["name"] as unknown as number[]).map(
    (place) => (json["names"] as unknown as string[])[place] ?? "",
  );

function family() {
  const root = wireRun({ id: idAt(1), name: "root", start_time: at(0), end_time: at(90) });
  const usage = { usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } };
  const child = wireRun({
    id: idAt(2),
    parent: root,
    micros: someMicros + 1,
    name: "child",
    run_type: "llm",
    start_time: at(10),
    end_time: at(40),
    outputs: usage,
    error: "boom",
  });
  const open = wireRun({ id: idAt(3), parent: child, name: "child", start_time: at(20) });
  return { root, child, open };
}

test("a trace is returned as columns: positions, distinct names, times relative to the first start", async () => {
  const server = await runServer();
  const { root, child, open } = family();
  await call(server, "POST /runs/batch", { body: { post: [root, child, open] } });
  const { json, status } = await call(server, `GET /ui/traces/${root.id}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    count: 3,
    next: null,
    ids: root.id + child.id + open.id,
    parents: [-1, 0, 1],
    far: "",
    names: ["root", "child"],
    name: [0, 1, 1],
    types: ["chain", "llm"],
    type: [0, 1, 0],
    start: [0, 10_000, 20_000],
    end: [90_000, 40_000, null],
    errors: [1],
    tokens: { 1: 7 },
  });
});

test("a long trace is returned in lines, with parents on other lines named by their id", async () => {
  const server = await runServer();
  const { root, child, open } = family();
  await call(server, "POST /runs/batch", { body: { post: [root, child, open] } });
  const { text, headers } = await call(server, `GET /ui/traces/${root.id}?limit=2`);
  expect(headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  expect(lines).toMatchObject([
    { count: 2, ids: root.id + child.id, parents: [-1, 0], next: child.id },
    { count: 1, ids: open.id, parents: [1], far: child.id, next: null },
  ]);
});

test("names are returned as they are, whatever characters they contain", async () => {
  const server = await runServer();
  const names = [
    '"quoted"\\',
    "nul \u0000 within",
    "bidi \u202e mark",
    "\ud83d\ude00",
    "line\n\u2028end",
  ];
  const [first, ...others] = names.map((name, index) => ({ id: idAt(index + 1), name }));
  const root = wireRun({ ...first, start_time: at(0) });
  const children = others.map((run) => wireRun({ ...run, parent: root, start_time: at(1) }));
  await call(server, "POST /runs/batch", { body: { post: [root, ...children] } });
  expect(namesOf(await call(server, `GET /ui/traces/${root.id}`))).toEqual(names);
});

test("with the mark of an earlier response only new and changed runs are returned", async () => {
  const server = await runServer();
  const { root, child, open } = family();
  await call(server, "POST /runs/batch", { body: { post: [root, child, open] } });
  const { json } = await call(server, `GET /ui/traces/${root.id}`);
  const since = `GET /ui/traces/${root.id}?since=${Number(json["mark"])}`;
  expect((await call(server, since)).json).toMatchObject({ count: 0, ids: "" });
  const { id, trace_id, dotted_order, parent_run_id } = open as Record<string, unknown>;
  const patch = { id, trace_id, dotted_order, parent_run_id, end_time: at(30) };
  const late = wireRun({ id: idAt(4), parent: root, name: "late", start_time: at(50) });
  const elsewhere = wireRun({ name: "elsewhere" });
  await call(server, "POST /runs/batch", { body: { post: [late, elsewhere], patch: [patch] } });
  const changed = await call(server, since);
  expect(namesOf(changed)).toEqual(["child", "late"]);
  expect(changed.json["end"]).toEqual([10_000, null]);
});

test("another tenant's runs are in no trace, whatever trace they name", async () => {
  const { me, you, server } = await twoTenants();
  const root = wireRun({ id: idAt(1), name: "root", start_time: at(0) });
  const guest = wireRun({ id: idAt(2), parent: root, name: "guest", start_time: at(1) });
  await me("POST /runs/batch", { post: [root] });
  await you("POST /runs/batch", { post: [guest] });
  expect(namesOf(await me(`GET /ui/traces/${root.id}`))).toEqual(["root"]);
  expect((await you(`GET /ui/trace-runs/${root.id}`)).status).toBe(404);
  expect((await call(server, `GET /ui/traces/${root.id}`)).status).toBe(401);
});

test("a run of a trace is returned without the ids of its descendants", async () => {
  const server = await runServer();
  const { root, child } = family();
  await call(server, "POST /runs/batch", { body: { post: [root, child] } });
  const { json } = await call(server, `GET /ui/trace-runs/${root.id}`);
  expect(json).toMatchObject({ id: root.id, name: "root", child_run_ids: null });
  expect((await call(server, `GET /ui/trace-runs/${randomUUID()}`)).status).toBe(404);
});

test("malformed ids, marks and limits are rejected", async () => {
  const server = await runServer();
  for (const path of ["/no-id", `/${idAt(1)}?since=-1`, `/${idAt(1)}?limit=10001`]) {
    expect((await call(server, `GET /ui/traces${path}`)).status).toBe(422);
  }
});

const tokenOf = ({ json }: CallResult): string => textOf(json["share_token"]);
const linesOf = ({ text }: CallResult) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

test("the token of a trace gives access to all of its runs and to no other run", async () => {
  const server = await runServer();
  const { root, child, open } = family();
  const other = wireRun({ id: idAt(9), name: "other" });
  await call(server, "POST /runs/batch", { body: { post: [root, child, open, other] } });
  expect((await call(server, `GET /ui/traces/${root.id}/share`)).json).toEqual({
    share_token: null,
  });
  const token = tokenOf(await call(server, `PUT /ui/traces/${root.id}/share`));
  expect(tokenOf(await call(server, `GET /ui/traces/${root.id}/share`))).toBe(token);
  expect((await call(server, `GET /ui/public/${token}`)).json).toEqual({
    kind: "trace",
    run_id: root.id,
  });
  const own = await call(server, `GET /ui/traces/${root.id}?limit=2`);
  const shared = await call(server, `GET /ui/public/${token}/trace?limit=2`);
  expect(shared.text).toBe(own.text);
  expect(linesOf(shared)).toMatchObject([{ count: 2 }, { count: 1 }]);
  const read = (id: string) => call(server, `GET /ui/public/${token}/runs/${id}`);
  expect((await read(child.id)).json).toMatchObject({ id: child.id, name: "child", error: "boom" });
  expect([(await read(other.id)).status, (await read(randomUUID())).status]).toEqual([404, 404]);
});

test("a run of a shared trace has no member that concerns its owner", async () => {
  const server = await runServer();
  const { root, child } = family();
  const ofExample = { ...child, reference_example_id: randomUUID(), secret: "unknown member" };
  const project = { session_name: "internal project" };
  await call(server, "POST /runs/batch", {
    body: {
      post: [
        { ...root, ...project },
        { ...ofExample, ...project },
      ],
    },
  });
  const ofRun = tokenOf(await call(server, `PUT /runs/${child.id}/share`));
  const token = tokenOf(await call(server, `PUT /ui/traces/${root.id}/share`));
  const { json, text } = await call(server, `GET /ui/public/${token}/runs/${child.id}`);
  expect(Object.keys(json)).toContain("inputs");
  const { tenant_id: tenantId } = (await call(server, "GET /sessions")).json[0] as unknown as {
    readonly tenant_id: string;
  };
  for (const hidden of [
    ofRun,
    ofExample.reference_example_id,
    ofExample.secret,
    "internal project",
    tenantId,
  ]) {
    expect(text).not.toContain(hidden);
  }
});

test("the token of a run is not one of its trace, and a deleted share gives access to nothing", async () => {
  const server = await runServer();
  const { root, child } = family();
  await call(server, "POST /runs/batch", { body: { post: [root, child] } });
  const ofRun = tokenOf(await call(server, `PUT /runs/${root.id}/share`));
  const token = tokenOf(await call(server, `PUT /ui/traces/${root.id}/share`));
  const statuses = async (of: string) =>
    Promise.all(
      ["", "/trace", `/runs/${root.id}`, `/runs/${child.id}`].map(
        async (path) => (await call(server, `GET /ui/public/${of}${path}`)).status,
      ),
    );
  expect((await call(server, `GET /ui/public/${ofRun}`)).json).toEqual({
    kind: "run",
    run_id: root.id,
  });
  expect(await statuses(ofRun)).toEqual([200, 404, 404, 404]);
  expect(await statuses(token)).toEqual([200, 200, 200, 200]);
  expect((await call(server, `DELETE /ui/traces/${root.id}/share`)).status).toBe(204);
  expect(await statuses(token)).toEqual([404, 404, 404, 404]);
  expect(await statuses(randomUUID())).toEqual([404, 404, 404, 404]);
  // Only a root can be shared with its trace.
  expect((await call(server, `PUT /ui/traces/${child.id}/share`)).status).toBe(404);
});
