/** Reads, from a request's bytes, which runs arrived with it: the wires of all that are measured. */

/** A part of a run. A run is whole once both its inputs and its outputs came. */
export interface Arrival {
  readonly id: string;
  readonly part: "inputs" | "outputs" | "whole";
}

/** @throws SyntaxError a body that should be JSON is not. */
export function arrivalsIn(path: string, contentType: string, body: Buffer): readonly Arrival[] {
  if (path.endsWith("/runs/multipart")) {
    return multipartRuns(body);
  }
  if (path.endsWith("/runs/batch")) {
    return batchedRuns(body);
  }
  if (path.endsWith("/v1/traces")) {
    return contentType.includes("json") ? jsonSpans(body) : protobufSpans(body);
  }
  return path.endsWith("/logs3") ? loggedRows(body) : [];
}

const uuidLength = 36;
const spanIdLength = 16;

/** How a run begins in a list, how its payloads do, and a span in OTLP's JSON; no payload of a workload holds any of them. */
const batchedRun = Buffer.from('{"id":"');
const batchedPart = { inputs: Buffer.from('"inputs":'), outputs: Buffer.from('"outputs":') };
const jsonSpan = Buffer.from('"spanId":"');

/** Runs of a list, their starts and ends joined or apart. */
function batchedRuns(body: Buffer): readonly Arrival[] {
  const heads = positionsOf(body, batchedRun);
  const isWith = (part: Buffer): ((index: number) => boolean) => {
    const places = positionsOf(body, part);
    let next = 0;
    return (index) => {
      const end = heads[index + 1] ?? body.length;
      const before = next;
      while ((places[next] ?? end) < end) {
        next += 1;
      }
      return next > before;
    };
  };
  const hasInputs = isWith(batchedPart.inputs);
  const hasOutputs = isWith(batchedPart.outputs);
  return heads.flatMap((head, index): readonly Arrival[] => {
    const from = head + batchedRun.length;
    const id = body.toString("latin1", from, from + uuidLength);
    const inputs = hasInputs(index);
    if (hasOutputs(index)) {
      return [{ id, part: inputs ? "whole" : "outputs" }];
    }
    return inputs ? [{ id, part: "inputs" }] : [];
  });
}

function jsonSpans(body: Buffer): readonly Arrival[] {
  return positionsOf(body, jsonSpan).map((at) => {
    const from = at + jsonSpan.length;
    return { id: body.toString("latin1", from, from + spanIdLength), part: "whole" };
  });
}

/** Parts are called `post.<id>.inputs`, `patch.<id>.outputs` and so on. */
function multipartRuns(body: Buffer): readonly Arrival[] {
  return (["inputs", "outputs"] as const).flatMap((part) =>
    positionsOf(body, Buffer.from(`.${part}"`)).map((at) => ({
      id: body.toString("latin1", at - uuidLength, at),
      part,
    })),
  );
}

/** Field 1 of a span is its trace's id, 16 bytes; field 2 is its own, 8 bytes. */
const traceIdField = Buffer.from([0x0a, 16]);
const spanIdField = Buffer.from([0x12, 8]);
const spanIdAt = traceIdField.length + 16;

function protobufSpans(body: Buffer): readonly Arrival[] {
  return positionsOf(body, traceIdField)
    .filter((at) => body.subarray(at + spanIdAt, at + spanIdAt + 2).equals(spanIdField))
    .map((at) => {
      const from = at + spanIdAt + spanIdField.length;
      return { id: body.toString("hex", from, from + 8), part: "whole" };
    });
}

/** Rows of one span may come apart; the later ones are merged into the first. */
function loggedRows(body: Buffer): readonly Arrival[] {
  const { rows } = JSON.parse(body.toString()) as {
    readonly rows: readonly { span_id?: string; input?: unknown; output?: unknown }[];
  };
  return rows.flatMap(({ span_id: id, input, output }) => {
    const inputs: readonly Arrival[] = id && input !== undefined ? [{ id, part: "inputs" }] : [];
    const outputs: readonly Arrival[] = id && output !== undefined ? [{ id, part: "outputs" }] : [];
    return [...inputs, ...outputs];
  });
}

function positionsOf(body: Buffer, pattern: Buffer): readonly number[] {
  const found: number[] = [];
  for (let at = body.indexOf(pattern); at !== -1; at = body.indexOf(pattern, at + 1)) {
    found.push(at);
  }
  return found;
}
