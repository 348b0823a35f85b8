import { createHash } from "node:crypto";
import { isObject } from "./check-type.ts";
import { fieldProblems, largeFields, runProblems } from "./check-run.ts";
import type { RunRule } from "./check-run.ts";
import { readMultipart } from "./read-multipart.ts";
import type { Part, PartProblem } from "./read-multipart.ts";
import { contentTypeOf, jsonOf } from "./received-request.ts";
import type { ReceivedRequest, Violation } from "./received-request.ts";

export type IngestRule =
  | RunRule
  | PartProblem["rule"]
  | "content-type"
  | "json"
  | "batch-shape"
  | "part-name"
  | "part-length"
  | "part-type"
  | "part-json"
  | "part-order"
  | "part-owner"
  | "part-envelope"
  | "part-id"
  | "part-twice";

/** One post or patch of one run. */
export interface Operation {
  readonly kind: string;
  readonly id: string;
  /** Members of the run, including its large fields. */
  readonly run: Readonly<Record<string, unknown>>;
  /** A digest of the whole operation: two operations with the same digest are the same. */
  readonly digest: string;
}

export interface Ingested {
  readonly operations: readonly Operation[];
  readonly violations: readonly Violation<IngestRule>[];
}

/** Parses an ingest request, and reports which rules of its format it breaks. */
export function checkIngest(request: ReceivedRequest): Ingested {
  if (request.path === "/runs/multipart") {
    return checkMultipart(request);
  }
  const violations: Violation<IngestRule>[] = [];
  if (!/^application\/json\b/.test(contentTypeOf(request))) {
    violations.push({ rule: "content-type", detail: contentTypeOf(request) });
  }
  const json = jsonOf(request.body);
  if (json === undefined) {
    return {
      operations: [],
      violations: [...violations, { rule: "json", detail: request.body.toString().slice(0, 200) }],
    };
  }
  const { operations, violations: more } =
    request.path === "/runs/batch" ? checkBatch(json.value) : checkSingle(request, json.value);
  return { operations, violations: [...violations, ...more] };
}

function checkSingle({ method, path }: ReceivedRequest, run: unknown): Ingested {
  const violations: Violation<IngestRule>[] = runProblems(run, { at: "run", isPlaced: false });
  const runId = isObject(run) && typeof run["id"] === "string" ? run["id"] : undefined;
  const id = method === "PATCH" ? (path.split("/").at(-1) ?? "") : runId;
  if (id === undefined) {
    violations.push({ rule: "run-required", detail: "run.id" });
  } else if (runId !== undefined && runId !== id) {
    violations.push({ rule: "part-id", detail: `${runId} at ${path}` });
  }
  const kind = method === "PATCH" ? "patch" : "post";
  return { operations: [operationOf(kind, id ?? "", isObject(run) ? run : {})], violations };
}

function checkBatch(body: unknown): Ingested {
  const lists = isObject(body) ? body : {};
  const isBatch =
    Object.keys(lists).every((name) => name === "post" || name === "patch") &&
    Object.values(lists).length > 0 &&
    Object.values(lists).every(Array.isArray);
  if (!isBatch) {
    return { operations: [], violations: [{ rule: "batch-shape", detail: shown(body) }] };
  }
  const violations: Violation<IngestRule>[] = [];
  const operations: Operation[] = [];
  for (const kind of ["post", "patch"]) {
    for (const [index, run] of ((lists[kind] ?? []) as readonly unknown[]).entries()) {
      violations.push(...runProblems(run, { at: `${kind}[${index}]`, isPlaced: true }));
      if (isObject(run)) {
        operations.push(operationOf(kind, String(run["id"]), run));
      }
    }
  }
  return { operations, violations };
}

function checkMultipart(request: ReceivedRequest): Ingested {
  const { parts, problems } = readMultipart(contentTypeOf(request), request.body);
  const violations: Violation<IngestRule>[] = [...problems];
  const runs = new Map<string, Record<string, unknown>>();
  const names = new Set<string>();
  let patched = false;
  for (const part of parts) {
    violations.push(...headProblems(part));
    if (names.has(part.name)) {
      violations.push({ rule: "part-twice", detail: part.name });
    }
    names.add(part.name);
    const [kind = "", id = "", field] = part.name.split(".");
    if (kind !== "post" && kind !== "patch") {
      continue;
    }
    if (patched && kind === "post") {
      violations.push({ rule: "part-order", detail: `${part.name} is behind a patch` });
    }
    patched ||= kind === "patch";
    violations.push(...readRunPart(part, { kind, id, field, runs }));
  }
  for (const [name, run] of runs) {
    violations.push(...runProblems(run, { at: name, isPlaced: true }));
  }
  const operations = [...runs].map(([name, run]) => {
    const [kind = "", id = ""] = name.split(".");
    return operationOf(kind, id, run);
  });
  return { operations, violations };
}

const uuid = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}`;
const namePattern = new RegExp(
  String.raw`^(?:(?:post|patch)\.${uuid}(?:\.(?:${largeFields.join("|")}))?|attachment\.${uuid}\.[^."\r\n]+|feedback\.${uuid})$`,
);

function headProblems({ name, contentType, length, bytes }: Part): Violation<IngestRule>[] {
  const violations: Violation<IngestRule>[] = [];
  if (!namePattern.test(name)) {
    violations.push({ rule: "part-name", detail: name });
  }
  if (length !== bytes.length) {
    violations.push({ rule: "part-length", detail: `${name}: ${length}, not ${bytes.length}` });
  }
  const isJson = /^application\/json\b/.test(contentType ?? "");
  if (contentType === undefined || (!isJson && !name.startsWith("attachment."))) {
    violations.push({ rule: "part-type", detail: `${name}: ${contentType}` });
  }
  return violations;
}

interface RunPart {
  readonly kind: string;
  readonly id: string;
  readonly field: string | undefined;
  readonly runs: Map<string, Record<string, unknown>>;
}

function readRunPart(part: Part, { kind, id, field, runs }: RunPart): Violation<IngestRule>[] {
  const json = jsonOf(part.bytes);
  if (json === undefined) {
    return [{ rule: "part-json", detail: `${part.name}: ${part.bytes.toString().slice(0, 200)}` }];
  }
  const name = `${kind}.${id}`;
  const { value } = json;
  if (field !== undefined) {
    const run = runs.get(name);
    if (run === undefined) {
      return [{ rule: "part-owner", detail: part.name }];
    }
    const problems = fieldProblems(field, value, part.name);
    if (problems.length === 0) {
      run[field] = value;
    }
    return problems;
  }
  if (!isObject(value)) {
    return [{ rule: "run-object", detail: part.name }];
  }
  runs.set(name, { ...value });
  return [
    ...largeFields
      .filter((large) => large in value)
      .map((large) => ({ rule: "part-envelope" as const, detail: `${part.name}: ${large}` })),
    ...(value["id"] === id
      ? []
      : [{ rule: "part-id" as const, detail: `${part.name}: ${shown(value["id"])}` }]),
  ];
}

const operationOf = (
  kind: string,
  id: string,
  run: Readonly<Record<string, unknown>>,
): Operation => ({
  kind,
  id,
  run,
  digest: createHash("sha256").update(JSON.stringify(run)).digest("base64"),
});

const shown = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 200);
