import { expect, test } from "vitest";
import { findReceivedParts } from "../../bench/arrivals.ts";

const id = "01a20062-256b-7000-8000-017b1bcd373f";

test("a multipart run counts as arrived with its inputs and outputs, not with its envelope", () => {
  const part = (name: string): string =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n{}\r\n`;
  const body = [`post.${id}`, `post.${id}.inputs`, `patch.${id}.outputs`].map(part).join("");
  expect(findReceivedParts("/runs/multipart", "multipart/form-data", Buffer.from(body))).toEqual([
    { id, part: "inputs" },
    { id, part: "outputs" },
  ]);
});

test("a run in a list counts as arrived with the payloads that it contains", () => {
  const ids = ["a", "b", "c", "d", "e"].map((letter) => letter.repeat(36));
  const body = {
    post: [
      { id: ids[0], inputs: { text: id }, outputs: { inputs: 1 } },
      { id: ids[1], inputs: {} },
      { id: ids[2], name: "a head" },
    ],
    patch: [
      { id: ids[3], outputs: {} },
      { id: ids[4], error: "failed" },
    ],
  };
  const bytes = Buffer.from(JSON.stringify(body));
  expect(findReceivedParts("/runs/batch", "application/json", bytes)).toEqual([
    { id: ids[0], part: "whole" },
    { id: ids[1], part: "inputs" },
    { id: ids[3], part: "outputs" },
  ]);
});

test("an OTLP span counts as arrived by its own id, not by its parent's, in JSON and in protobuf", () => {
  const [trace, span, parent] = [
    "0af7651916cd43dd8448eb211c80319c",
    "b7ad6b7169203331",
    "00f067aa0ba902b7",
  ];
  const json = JSON.stringify({ traceId: trace, spanId: span, parentSpanId: parent });
  const protobuf = Buffer.concat([
    Buffer.from([0x0a, 16]),
    Buffer.from(trace ?? "", "hex"),
    Buffer.from([0x12, 8]),
    Buffer.from(span ?? "", "hex"),
    Buffer.from([0x22, 8]),
    Buffer.from(parent ?? "", "hex"),
  ]);
  const whole = [{ id: span, part: "whole" }];
  expect(findReceivedParts("/v1/traces", "application/json", Buffer.from(json))).toEqual(whole);
  expect(findReceivedParts("/v1/traces", "application/x-protobuf", protobuf)).toEqual(whole);
});

test("a logged row without outputs is only the start of a run", () => {
  const rows = [{ span_id: "a", input: 1 }, { span_id: "a", output: 2 }, { span_id: "c" }];
  expect(
    findReceivedParts("/logs3", "application/json", Buffer.from(JSON.stringify({ rows }))),
  ).toEqual([
    { id: "a", part: "inputs" },
    { id: "a", part: "outputs" },
  ]);
});

test("a body in an unknown format contains no runs", () => {
  expect(findReceivedParts("/other", "application/json", Buffer.from('{"id":"x"}'))).toEqual([]);
});
