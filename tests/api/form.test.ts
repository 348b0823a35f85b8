import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { openAsBlob } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFormBody } from "../../src/api/http/form.ts";
import type { FormPart } from "../../src/api/http/form.ts";
import type { RequestBody } from "../../src/api/http/request.ts";
import { toBody } from "../../src/api/http/streamed-bodies.ts";
import type { ByteSource } from "../../src/api/http/streamed-bodies.ts";
import { createTestHttp } from "../support/api.ts";
import { destroyConnection, loopbackServer, neverRespond } from "../support/loopback-server.ts";

const bytesOf = async ({ content }: RequestBody): Promise<Buffer> => {
  if (content instanceof Uint8Array) {
    return Buffer.from(content);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of content.open()) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Parses a form with a parser that is not part of this project. */
const parsed = async (parts: readonly FormPart[]): Promise<FormData> => {
  const body = createFormBody(parts);
  const headers = { "content-type": body.contentType };
  return new Response(new Uint8Array(await bytesOf(body)), { headers }).formData();
};

const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), "millrace-form-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
};

test("texts, bytes and files arrive unchanged, repeated names in order", async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
  const form = await parsed([
    { name: "key", content: "a\r\n--b\u0000 é" },
    { name: "key", content: "" },
    { name: "file", fileName: "é.bin", type: "image/png", content: bytes },
    { name: "blob", fileName: "b", type: "a/b; c=d", content: new Blob([bytes, bytes]) },
  ]);
  expect(form.getAll("key")).toEqual(["a\r\n--b\u0000 é", ""]);
  const file = form.get("file") as File;
  expect([file.name, file.type]).toEqual(["é.bin", `image/png; length=256`]);
  expect(new Uint8Array(await file.arrayBuffer())).toEqual(bytes);
  expect((form.get("blob") as File).size).toBe(512);
});

test("no name and no file name can end its header", async () => {
  const evil = 'x"\r\nX-Injected: yes\r\n\r\nbody';
  const body = createFormBody([{ name: evil, fileName: evil, type: "text/csv", content: "c" }]);
  const text = (await bytesOf(body)).toString();
  const heads = text.slice(0, text.indexOf("\r\n\r\n")).split("\r\n");
  const escaped = "x%22%0D%0AX-Injected: yes%0D%0A%0D%0Abody";
  expect(heads.slice(1)).toEqual([
    `Content-Disposition: form-data; name="${escaped}"; filename="${escaped}"`,
    "Content-Type: text/csv; length=1",
  ]);
});

test.each([
  { name: "a\u0000b", content: "" },
  { name: "a", fileName: "\u007f", content: "" },
  { name: "a", type: "text/plain\r\nX-Injected: yes", content: "" },
  { name: "a", type: "text", content: "" },
  { name: "a", type: "", content: "" },
])("a name or type that can't be written in a header is refused: %j", (part) => {
  expect(() => createFormBody([part])).toThrow(
    expect.objectContaining({ code: "VALIDATION" }) as Error,
  );
});

test("a path, bytes, a Blob and a stream all send the same content", async () => {
  const path = join(await folder(), "data.csv");
  const text = `q,a\n${"é,1\n".repeat(100_000)}`;
  await writeFile(path, text);
  async function* stream() {
    yield text.slice(0, 7);
    yield Buffer.from(text.slice(7));
  }
  const sources: readonly ByteSource[] = [
    path,
    new URL(`file://${path}`),
    Buffer.from(text),
    Uint8Array.from(Buffer.from(text)).buffer,
    new Blob([text]),
    await openAsBlob(path),
    new Blob([text]).stream(),
    stream(),
  ];
  await using server = await loopbackServer({ info: { body: "{}" } });
  const { http } = createTestHttp(server.endpoint);
  for (const source of sources) {
    const content = await toBody(source, "CSV file");
    const body = createFormBody([{ name: "file", fileName: "f", type: "text/csv", content }]);
    await http.call("uploadDataset", { body });
  }
  expect(server.requests).toHaveLength(sources.length);
  for (const { headers, body } of server.requests) {
    const request = new Response(new Uint8Array(body), {
      headers: { "content-type": headers["content-type"] ?? "" },
    });
    const file = (await request.formData()).get("file") as File;
    expect((await file.text()) === text).toBe(true);
  }
  expect(server.requests.map(({ headers }) => "content-length" in headers)).toEqual([
    ...Array.from({ length: 6 }, () => true),
    false,
    false,
  ]);
});

test("after a broken connection a file is sent again, a stream that was read is not", async () => {
  const path = join(await folder(), "data.csv");
  await writeFile(path, "q\n1\n");
  async function* stream() {
    yield "q\n1\n";
  }
  for (const [source, requests] of [
    [path, 3],
    [stream(), 1],
  ] as const) {
    await using server = await loopbackServer({ info: destroyConnection });
    const { http } = createTestHttp(server.endpoint);
    const content = await toBody(source, "CSV file");
    const body = createFormBody([{ name: "file", content }]);
    const call = http.call("uploadDataset", { body, repeatable: true });
    await expect(call).rejects.toMatchObject({ code: "NETWORK" });
    expect(server.requests).toHaveLength(requests);
  }
});

test("an unreadable source is refused, before or during the request, without a retry", async () => {
  const path = await folder();
  for (const [source, reason] of [
    [join(path, "none.csv"), "ENOENT"],
    [path, "is not a file"],
    [7 as unknown as string, "must be a path"],
  ] as const) {
    await expect(toBody(source, "CSV file")).rejects.toMatchObject({
      code: "VALIDATION",
      message: expect.stringContaining(reason) as string,
    });
  }
  async function* failing() {
    yield "q\n";
    throw new Error("disk on fire");
  }
  async function* wrong() {
    yield { no: "bytes" } as unknown as string;
  }
  await using server = await loopbackServer();
  const { http, waits } = createTestHttp(server.endpoint);
  for (const [stream, reason] of [
    [failing(), "disk on fire"],
    [wrong(), "a value of type object"],
  ] as const) {
    const content = await toBody(stream, "CSV file");
    const call = http.call("uploadDataset", { body: createFormBody([{ name: "file", content }]) });
    await expect(call).rejects.toMatchObject({
      code: "VALIDATION",
      message: expect.stringContaining(reason) as string,
    });
  }
  expect([server.requests, waits]).toEqual([[], []]);
});

test("an upload that makes progress may take longer than the time limit of one attempt", async () => {
  await using server = await loopbackServer({ info: { body: "{}" } });
  const { http } = createTestHttp(server.endpoint, { attempts: 1, connection: { timeoutMs: 120 } });
  const begun = performance.now();
  async function* slow() {
    while (performance.now() - begun < 400) {
      yield "x";
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
  }
  const content = await toBody(slow(), "CSV file");
  const call = http.call("uploadDataset", { body: createFormBody([{ name: "file", content }]) });
  expect(await call).toEqual({});
});

test("a stream or a server that stalls ends the upload with a TimeoutError", async () => {
  await using server = await loopbackServer({ info: neverRespond });
  const { http } = createTestHttp(server.endpoint, { attempts: 1, connection: { timeoutMs: 60 } });
  async function* quiet() {
    yield "x";
    await new Promise(() => {});
  }
  async function* whole() {
    yield "x";
  }
  for (const stream of [quiet(), whole()]) {
    const content = await toBody(stream, "CSV file");
    const call = http.call("uploadDataset", { body: createFormBody([{ name: "file", content }]) });
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
  }
});
