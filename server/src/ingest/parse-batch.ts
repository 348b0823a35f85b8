import { isUtf8 } from "node:buffer";
import type { Operation } from "millrace/model";
import { RequestError } from "../errors.ts";
import { serverLimits } from "../options.ts";
import { BatchBuilder } from "./batch-builder.ts";
import type { ParsedBatch } from "./batch-builder.ts";
import { JsonCursor, JsonError } from "./json-cursor.ts";
import type { ParseRules } from "./parse-run.ts";

/** Reads the body of `POST /runs/batch`. @throws RequestError it is no batch, or holds too much. */
export function parseBatch(body: Buffer): ParsedBatch {
  const members = parseObject(body);
  const runs = (["post", "patch"] as const).flatMap((operation) =>
    readList(members, operation).map((text) => ({ operation, text })),
  );
  if (runs.length > serverLimits.operationsMax) {
    throw new RequestError(
      413,
      `${runs.length} operations in one request; at most ${serverLimits.operationsMax}`,
    );
  }
  const builder = new BatchBuilder(body.length);
  for (const { operation, text } of runs) {
    const run = readRun(text);
    if (run === undefined) {
      builder.reject({ id: null, operation, reason: "a run is a JSON object" });
    } else {
      builder.addRun({ operation, members: run }, { place: "required" });
    }
  }
  return builder.build();
}

/** Reads the body of a one-run call. @throws RequestError it is no JSON object. */
export function parseOneRun(body: Buffer, operation: Operation, rules: ParseRules): ParsedBatch {
  const builder = new BatchBuilder(body.length + 64);
  builder.addRun({ operation, members: parseObject(body) }, rules);
  return builder.build();
}

function parseObject(body: Buffer): Map<string, Buffer> {
  if (!isUtf8(body)) {
    throw new RequestError(422, "the body is not UTF-8");
  }
  try {
    return new JsonCursor(body).readMembers();
  } catch (cause) {
    throw cause instanceof JsonError
      ? new RequestError(422, `the body is ${cause.message}`)
      : cause;
  }
}

function readList(members: Map<string, Buffer>, name: Operation): Buffer[] {
  const text = members.get(name);
  if (text === undefined || text.equals(nullJson)) {
    return [];
  }
  if (text[0] !== openBracket) {
    throw new RequestError(422, `${name} is an array of runs`);
  }
  return new JsonCursor(text).readItems(serverLimits.operationsMax);
}

const nullJson = Buffer.from("null");
const openBracket = 0x5b;
const openBrace = 0x7b;

const readRun = (text: Buffer): Map<string, Buffer> | undefined =>
  text[0] === openBrace ? new JsonCursor(text).readMembers() : undefined;
