import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../storage/sqlite/connection.ts";
import { anyText, containing, matching } from "../../../tests/support/matchers.ts";
import { call, runServer, temporaryFolder } from "../../../tests/support/running-server.ts";
import type { CallResult, Json } from "../../../tests/support/running-server.ts";
import { twoTenants } from "../../../tests/support/hub-tenants.ts";

const urlOf = (json: Json): string => textOf(json["url"]);

/** Requests as a browser sends them that follows a link, or as a script of the page does: without a key. */
async function open(
  url: string,
  init: RequestInit = {},
): Promise<Pick<CallResult, "status" | "text">> {
  const response = await fetch(url, init);
  return { status: response.status, text: await response.text() };
}

const milliseconds = (json: Json): number => Date.parse(textOf(json["expires_at"]));

const textOf = (json: Json | undefined): string => JSON.stringify(json).slice(1, -1);

describe("tokens", () => {
  test("a token allows feedback without a key, by link and by body, on a server that requires keys", async () => {
    const server = await runServer({ apiKeys: ["secret"] });
    const headers = { "x-api-key": "secret" };
    const run_id = randomUUID();
    const config = { type: "continuous", min: 0, max: 1 };
    const body = { run_id, feedback_key: "thumbs", feedback_config: config };
    const { status, json } = await call(server, "POST /api/v1/feedback/tokens", { body, headers });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: anyText(),
      url: matching(new RegExp(`^${server.url}/feedback/tokens/[0-9a-f-]{36}$`)),
      expires_at: anyText(),
      feedback_key: "thumbs",
    });
    expect(urlOf(json)).not.toContain(textOf(json["id"]));
    const query = "score=0.5&value=v%00&comment=%3Cb%3E&correction=c&metadata=%7B%22page%22%3A1%7D";
    expect((await open(`${urlOf(json)}?${query}`)).status).toBe(200);
    const given = {
      score: true,
      value: 7,
      comment: "\ud800",
      correction: { a: 1 },
      metadata: { page: 2 },
    };
    const posted = await open(urlOf(json), { method: "POST", body: JSON.stringify(given) });
    expect(posted.status).toBe(200);
    const list = await call(server, `GET /feedback?run=${run_id}`, { headers });
    const common = { run_id, key: "thumbs", feedback_config: config };
    expect(list.json).toMatchObject([
      {
        ...common,
        score: true,
        value: 7,
        comment: "\ud800",
        correction: { a: 1 },
        feedback_source: { type: "api", metadata: { page: 2 } },
      },
      {
        ...common,
        score: 0.5,
        value: "v\u0000",
        comment: "<b>",
        correction: "c",
        feedback_source: { metadata: { page: 1 } },
      },
    ]);
    const id = textOf(list.json[0]?.["id"]);
    for (const target of ["GET /feedback", `GET /feedback/${id}`, "POST /feedback/tokens"]) {
      expect((await call(server, target)).status).toBe(401);
    }
  });

  test("a HEAD request for a link submits nothing", async () => {
    const server = await runServer();
    const run_id = randomUUID();
    const { json } = await call(server, "POST /feedback/tokens", {
      body: { run_id, feedback_key: "k" },
    });
    expect((await open(urlOf(json), { method: "HEAD" })).status).toBe(404);
    expect((await call(server, "GET /feedback")).json).toEqual([]);
  });

  test("a token expires when requested, by default after three hours", async () => {
    const dataDir = await temporaryFolder();
    const server = await runServer({ dataDir });
    const request = { run_id: randomUUID(), feedback_key: "k" };
    const at = new Date(Date.now() + 60_000).toISOString();
    const body = [
      request,
      { ...request, expires_in: { days: 1, hours: 2, minutes: 3 } },
      { ...request, expires_at: at },
    ];
    const before = Date.now();
    const { json } = await call(server, "POST /feedback/tokens", { body });
    const tokens = json as unknown as readonly Json[];
    const hour = 3_600_000;
    const lasts = [3 * hour, 26 * hour + 180_000];
    for (const [index, lastsMs] of lasts.entries()) {
      const expiry = milliseconds(tokens[index] ?? {});
      expect(expiry).toBeGreaterThanOrEqual(before + lastsMs);
      expect(expiry).toBeLessThan(before + lastsMs + 60_000);
    }
    expect(milliseconds(tokens[2] ?? {})).toBe(Date.parse(at));
    const listed = await call(server, `GET /feedback/tokens?run_id=${request.run_id}`);
    expect(listed.json).toEqual(json);
    expect(
      (await call(server, `GET /feedback/tokens?run_id=${request.run_id}&limit=2&offset=2`)).json,
    ).toEqual([tokens[2]]);

    const db = openDatabase(join(dataDir, "millrace.db"));
    db.prepare("UPDATE feedback_tokens SET expires_us = ?").run([Date.now() * 1_000]);
    db.close();
    for (const method of ["GET", "POST"]) {
      const init = method === "POST" ? { method, body: "{}" } : { method };
      expect(await open(urlOf(tokens[0] ?? {}), init)).toEqual({
        status: 410,
        text: '{"detail":"The feedback token has expired: ask the sender of the link for a new one"}',
      });
    }
    expect((await call(server, "GET /feedback")).json).toEqual([]);
    const later = await call(server, `GET /feedback/tokens?run_id=${request.run_id}`);
    expect(later.json).toHaveLength(3);
  });

  test("URLs use the host name by which the client reached the server", async () => {
    const server = await runServer();
    const { port } = new URL(server.url);
    const run_id = randomUUID();
    const created = await call({ url: `http://localhost:${port}` }, "POST /feedback/tokens", {
      body: { run_id, feedback_key: "k" },
    });
    expect(urlOf(created.json)).toMatch(new RegExp(`^http://localhost:${port}/`));
    const { json } = await call(server, `GET /feedback/tokens?run_id=${run_id}`);
    expect(urlOf(json[0] ?? {})).toMatch(new RegExp(`^${server.url}/`));
  });

  test("malformed tokens, unknown runs and expired dates are rejected", async () => {
    const server = await runServer();
    const valid = { run_id: randomUUID(), feedback_key: "k" };
    const bodies = [
      {},
      null,
      { ...valid, run_id: "x" },
      { ...valid, feedback_key: "" },
      { ...valid, feedback_config: {} },
      { ...valid, expires_at: "soon" },
      { ...valid, expires_at: "2020-01-01T00:00:00Z" },
      { ...valid, expires_at: new Date().toISOString() },
      { ...valid, expires_in: {} },
      { ...valid, expires_in: { hours: 0 } },
      { ...valid, expires_in: { hours: -1 } },
      { ...valid, expires_in: { hours: 0.5 } },
      { ...valid, expires_in: { days: 1e9 } },
      { ...valid, expires_in: { hours: 1 }, expires_at: "2099-01-01T00:00:00Z" },
      [valid, { ...valid, run_id: "x" }],
    ];
    for (const body of bodies) {
      const { status, text } = await call(server, "POST /feedback/tokens", { body });
      expect([body, status, text]).toEqual([body, 422, containing('"detail"')]);
    }
    const path = `/feedback/tokens?run_id=${valid.run_id}`;
    expect((await call(server, `GET ${path}`)).json).toEqual([]);
    for (const query of ["", "?run_id=x", `?run_id=${valid.run_id}&limit=0`]) {
      expect((await call(server, `GET /feedback/tokens${query}`)).status).toBe(422);
    }
    for (const token of [randomUUID(), "x", "%00", "'--"]) {
      expect(await call(server, `GET /feedback/tokens/${token}`)).toMatchObject({
        status: 404,
        json: { detail: "Feedback token not found" },
      });
    }
    const { json } = await call(server, "POST /feedback/tokens", { body: valid });
    for (const query of ["score=high", "score=%20", "score=NaN", "score=Infinity", "metadata=[]"]) {
      expect((await open(`${urlOf(json)}?${query}`)).status).toBe(422);
    }
    for (const body of ["", "[]", '{"score":"1"}', '{"correction":1}', "{"]) {
      expect((await open(urlOf(json), { method: "POST", body })).status).toBe(422);
    }
    expect((await call(server, "GET /feedback")).json).toEqual([]);
  });

  test("a script on another site can't submit feedback, but a link there can", async () => {
    const server = await runServer();
    const { json } = await call(server, "POST /feedback/tokens", {
      body: { run_id: randomUUID(), feedback_key: "k" },
    });
    const headers = { origin: "https://elsewhere.example" };
    expect((await open(urlOf(json), { method: "POST", body: "{}", headers })).status).toBe(403);
    const link = {
      headers: { referer: "https://elsewhere.example/", "sec-fetch-mode": "navigate" },
    };
    expect((await open(`${urlOf(json)}?score=1`, link)).status).toBe(200);
  });

  test("a request without feedback, or with unknown fields, is refused and stores nothing", async () => {
    const server = await runServer();
    const body = { run_id: randomUUID(), feedback_key: "k" };
    const { json } = await call(server, "POST /feedback/tokens", { body });
    const known = "score, value, comment, correction";
    for (const query of ["", "?score=", "?comment=", "?metadata=%7B%22page%22%3A1%7D"]) {
      const { status, text } = await open(`${urlOf(json)}${query}`);
      expect([query, status, text]).toEqual([query, 422, containing(known)]);
    }
    for (const query of ["?scor=1", "?score=1&coment=helpful"]) {
      const { status, text } = await open(`${urlOf(json)}${query}`);
      expect([query, status, text]).toEqual([query, 422, containing(`${known}, metadata`)]);
    }
    for (const feedback of ["{}", '{"score":null}', '{"metadata":{}}']) {
      const { status, text } = await open(urlOf(json), { method: "POST", body: feedback });
      expect([feedback, status, text]).toEqual([feedback, 422, containing(known)]);
    }
    for (const feedback of ['{"rating":1}', '{"score":1,"coment":"helpful"}']) {
      const { status, text } = await open(urlOf(json), { method: "POST", body: feedback });
      expect([feedback, status, text]).toEqual([feedback, 422, containing(`${known}, metadata`)]);
    }
    expect((await call(server, "GET /feedback")).json).toEqual([]);
  });

  test("the parameters that mailing services add to every link do not prevent feedback", async () => {
    const server = await runServer();
    const body = { run_id: randomUUID(), feedback_key: "k" };
    const { json } = await call(server, "POST /feedback/tokens", { body });
    const query = "score=1&utm_source=mail&fbclid=a&mc_eid=b&_hsenc=c&mkt_tok=d";
    expect((await open(`${urlOf(json)}?${query}`)).status).toBe(200);
    expect((await call(server, "GET /feedback")).json).toMatchObject([{ score: 1 }]);
  });

  test("a browser that opens a link with feedback gets a page that confirms it", async () => {
    const server = await runServer();
    const body = { run_id: randomUUID(), feedback_key: "k" };
    const { json } = await call(server, "POST /feedback/tokens", { body });
    const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const response = await fetch(`${urlOf(json)}?score=1&comment=helpful`, { headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await response.text()).toContain("Your feedback was received.");
    expect((await call(server, "GET /feedback")).json).toMatchObject([
      { score: 1, comment: "helpful" },
    ]);
  });

  test("the tokens of a run belong to its tenant, and feedback through them does too", async () => {
    const { me, you } = await twoTenants();
    const run_id = randomUUID();
    const { json } = await me("POST /feedback/tokens", { run_id, feedback_key: "k" });
    expect((await you(`GET /feedback/tokens?run_id=${run_id}`)).json).toEqual([]);
    expect((await open(`${urlOf(json)}?score=1`)).status).toBe(200);
    expect((await me(`GET /feedback?run=${run_id}`)).json).toMatchObject([{ score: 1 }]);
    expect((await you(`GET /feedback?run=${run_id}`)).json).toEqual([]);
  });
});
