import { markAsUntransferable } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { releaseChunks } from "../release-chunks.ts";
import { decodeBatch } from "../../runs/ingest/parse-batch.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";

/** A chunk as the socket delivers it: in a buffer of its own. */
function pieceOf(text: string): Buffer<ArrayBuffer> {
  const piece = Buffer.from(new ArrayBuffer(Buffer.byteLength(text)));
  piece.write(text);
  return piece;
}

describe("the memory of a body's chunks", () => {
  test("is freed once they are released, unless it contains more than one chunk", () => {
    const pieces = [pieceOf("a".repeat(70_000)), pieceOf("b"), Buffer.from(new ArrayBuffer(0))];
    const memory = new ArrayBuffer(100);
    const parts = [Buffer.from(memory, 0, 99), Buffer.from(memory, 1)];
    releaseChunks([...pieces, ...parts]);
    expect(pieces.map(({ length }) => length)).toEqual([0, 0, 0]);
    expect(pieces.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 0]);
    expect(parts.map(({ length }) => length)).toEqual([99, 99]);
    releaseChunks(pieces);
  });

  test("stays if it can't be transferred, and that of the others is freed", () => {
    const piece = pieceOf("kept");
    markAsUntransferable(piece.buffer);
    const other = pieceOf("gone");
    releaseChunks([piece, other]);
    expect([piece.toString(), other.length]).toEqual(["kept", 0]);
  });

  test("is freed once a batch was parsed from them, and the batch is unchanged", () => {
    const run = { ...wireRun(), inputs: { text: "x".repeat(1_000) } };
    const text = JSON.stringify({ post: [run] });
    const pieces = [pieceOf(text.slice(0, 500)), pieceOf(text.slice(500))];
    const { batch } = decodeBatch(pieces);
    expect(pieces.map(({ length }) => length)).toEqual([0, 0]);
    expect(JSON.parse(Buffer.from(batch.bodies).toString())).toEqual({
      inputs: run.inputs,
    });
  });

  test("stays if a body is no batch, so that the error can be reported", () => {
    const piece = pieceOf('{"post":[{"a":1');
    expect(() => decodeBatch([piece])).toThrow("the body is");
    expect(piece.length).toBe(15);
  });
});
