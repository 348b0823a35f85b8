import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { messageOf } from "../../model/errors.ts";
import { readChunks } from "../read-body.ts";

const part = gzipSync("abc").subarray(0, 12);

test.each([
  ["plain", "", "abc"],
  ["compressed", "content-encoding: gzip\r\n", part],
])(
  "a %s body that arrives too slowly ends its connection after its time limit",
  async (_kind, header, body) => {
    const faults: string[] = [];
    const server = createServer((request) => {
      readChunks(request, () => undefined, { bytesMax: 1_000, withinMs: 50 }).catch(
        (cause: unknown) => faults.push(messageOf(cause)),
      );
    });
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => undefined); // The connection may also end with a reset.
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${header}content-length: 500\r\n\r\n`);
    socket.write(body);
    await once(socket, "close");
    expect(faults).toEqual(["the body took longer than 50 ms to arrive: send less in one request"]);
  },
);

test("a body that arrives in time is returned completely", async () => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    void readChunks(request, (chunk) => chunks.push(chunk), {
      bytesMax: 1_000,
      withinMs: 5_000,
    }).then(() => response.end(Buffer.concat(chunks)));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: "whole" });
  expect(await answer.text()).toBe("whole");
});
