import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { ended, folder, start } from "./support/command.ts";

const millrace = (...args: readonly string[]) => ended(start(args));

interface FakeServer {
  readonly url: string;
  status: number;
  readonly accepted: Set<string>;
}

interface BatchBody {
  readonly post: readonly { readonly id: string }[];
}

/** Starts a server that responds with `status` and collects the ids of the runs that it accepts. */
async function server(status: number): Promise<FakeServer> {
  const state = { url: "", status, accepted: new Set<string>() };
  const listening = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (state.status === 202 && request.url === "/runs/batch") {
        const { post } = JSON.parse(Buffer.concat(chunks).toString()) as BatchBody;
        post.forEach(({ id }) => state.accepted.add(id));
      }
      response.writeHead(state.status).end(JSON.stringify({ detail: "no \u001b[2J such run" }));
    });
  });
  await new Promise<void>((resolve) => {
    listening.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  state.url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  return state;
}

/** Records three runs against the server, closes the client, and returns the ids of the runs. */
async function record(endpoint: string, spoolDir: string): Promise<readonly string[]> {
  const client = new Client({ endpoint, spoolDir, attempts: 1, logger: { warn: () => undefined } });
  const ids = Array.from({ length: 3 }, (_, i) => {
    const run = client.startRun({ name: `run ${i}` });
    run.end();
    return run.id;
  });
  await client.flush({ timeoutMs: 1_500 });
  await client.close({ timeoutMs: 0 });
  return ids;
}

const segments = (spoolDir: string): readonly string[] =>
  readdirSync(spoolDir, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".seg"),
  );

test("a spool that a client left is listed, verified as intact, and replayed", async () => {
  const data = await folder();
  const unavailable = await server(503);
  const ids = await record(unavailable.url, data);
  const listed = await millrace("spool", "inspect", data);
  expect(listed.output).toMatch(/^\S+-free-\S+\.seg {2}waiting {2}\d+ bytes {2}6 records\n$/);
  expect(await millrace("spool", "verify", data)).toMatchObject({
    code: 0,
    output: "1 files, 6 records, all intact\n",
  });
  unavailable.status = 202;
  expect(await millrace("replay", data, "--endpoint", unavailable.url)).toMatchObject({
    code: 0,
    output: "delivered 6, refused 0, remaining 0, lost 0 records\n",
  });
  expect(unavailable.accepted).toEqual(new Set(ids));
  expect(segments(data)).toEqual([]);
});

test("refused runs become dead letters: listed with their reason, and sent again by replay", async () => {
  const data = await folder();
  const strict = await server(422);
  const ids = await record(strict.url, data);
  const { output } = await millrace("spool", "inspect", data, "--json");
  const [file] = output.trim().split("\n");
  expect(JSON.parse(file ?? "")).toMatchObject({ state: "dead", records: 6, faults: [] });
  const plain = await millrace("spool", "inspect", data);
  expect(plain.output).toContain("422");
  expect(plain.output).not.toContain("\u001b");

  const again = await millrace("replay", data, "--endpoint", strict.url);
  expect(again).toMatchObject({
    code: 1,
    output: "delivered 0, refused 6, remaining 0, lost 0 records\n",
  });
  strict.status = 202;
  expect(
    await millrace("replay", data, "--endpoint", strict.url, "--no-dead-letters"),
  ).toMatchObject({ code: 0, output: "delivered 0, refused 0, remaining 0, lost 0 records\n" });
  expect(await millrace("replay", data, "--endpoint", strict.url)).toMatchObject({
    code: 0,
    output: "delivered 6, refused 0, remaining 0, lost 0 records\n",
  });
  expect(strict.accepted).toEqual(new Set(ids));
  expect(segments(data)).toEqual([]);
});

test("dead letters that can't be read stay on disk, are named, and make the command fail", async () => {
  const data = await folder();
  const strict = await server(422);
  await record(strict.url, data);
  const [name = ""] = segments(data);
  const path = join(data, name);
  writeFileSync(path, Buffer.from(readFileSync(path)).fill(0, 100, 110));
  mkdirSync(join(data, "dead", "99999999-00000001.seg"));
  strict.status = 202;
  for (const _attempt of ["first", "second"]) {
    const { code, output, errors } = await millrace("replay", data, "--endpoint", strict.url);
    expect({ code, output }).toEqual({
      code: 1,
      output: "delivered 0, refused 0, remaining 0, lost 0 records\n",
    });
    expect(errors).toContain(
      `error: parts of ${name}, dead/99999999-00000001.seg can't be read and stay on disk; "millrace spool verify" lists them\n`,
    );
  }
  const { output } = await millrace("spool", "verify", data);
  expect(output).toMatch(
    /^dead\/\S+\.seg: damaged at byte 0, \d+ bytes\ndead\/99999999-00000001\.seg: can't be read: EISDIR: .*\n$/,
  );
  expect(segments(data)).toHaveLength(2);
});

test("records that are not sent in time remain, are reported, and make the command fail", async () => {
  const data = await folder();
  const unavailable = await server(503);
  await record(unavailable.url, data);
  const { code, output } = await millrace(
    "replay",
    data,
    "--endpoint",
    unavailable.url,
    "--limit",
    "1",
  );
  expect({ code, output }).toEqual({
    code: 1,
    output: "delivered 0, refused 0, remaining 6, lost 0 records\n",
  });
});

test("damage is found and reported with its position", async () => {
  const data = await folder();
  await record("http://127.0.0.1:9", data);
  const [name = ""] = segments(data);
  const path = join(data, name);
  writeFileSync(path, Buffer.from(readFileSync(path)).fill(0, 100, 110));
  const { code, output, errors } = await millrace("spool", "verify", data);
  expect(code).toBe(1);
  expect(output).toMatch(/^\S+\.seg: damaged at byte 0, \d+ bytes\n$/);
  expect(errors).toBe(
    'error: 1 of 1 files contain unreadable data; "millrace replay" sends the rest\n',
  );
});

test("a missing folder and an invalid limit are reported", async () => {
  const missing = join(await folder(), "missing");
  expect(await millrace("replay", missing)).toMatchObject({
    code: 1,
    errors: expect.stringContaining("ENOENT") as unknown,
  });
  expect(await millrace("spool", "verify", missing)).toMatchObject({ code: 1 });
  expect(await millrace("replay", missing, "--limit", "soon")).toMatchObject({ code: 2 });
});
