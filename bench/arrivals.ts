/** Finds the runs in the bytes of a request, for the wire formats of all measured clients. */

/** A part of a run that a request contains. A run is whole once both its inputs and its outputs were received. */
export interface ReceivedPart {
  readonly id: string;
  readonly part: "inputs" | "outputs" | "whole";
}

/** Finds the parts of runs in a request. @throws SyntaxError a body that should be JSON is not valid JSON. */
export function findReceivedParts(
  path: string,
  contentType: string,
  body: Buffer,
): readonly ReceivedPart[] {
  if (path.endsWith("/runs/multipart")) {
    return findMultipartRuns(body);
  }
  if (path.endsWith("/runs/batch")) {
    return findBatchedRuns(body);
  }
  if (path.endsWith("/v1/traces")) {
    return contentType.includes("json") ? findJsonSpans(body) : findProtobufSpans(body);
  }
  return path.endsWith("/logs3") ? findLoggedRows(body) : [];
}

const uuidLength = 36;
const spanIdLength = 16;

/**
 * Bytes that begin a run in a JSON list, its payloads, and a span in OTLP's JSON. They occur in no payload of a
 * workload.
 */
const batchedRunPrefix = Buffer.from('{"id":"');
const batchedPartPrefixes = {
  inputs: Buffer.from('"inputs":'),
  outputs: Buffer.from('"outputs":'),
};
const jsonSpanPrefix = Buffer.from('"spanId":"');

/** Finds the runs in a JSON list. The start and the end of a run may be joined or separate. */
function findBatchedRuns(body: Buffer): readonly ReceivedPart[] {
  const runStarts = findPositions(body, batchedRunPrefix);
  // Returns a function that is called with increasing indexes and reports whether a run contains the part.
  const createHasPart = (part: Buffer): ((index: number) => boolean) => {
    const positions = findPositions(body, part);
    let next = 0;
    return (index) => {
      const end = runStarts[index + 1] ?? body.length;
      const previous = next;
      while ((positions[next] ?? end) < end) {
        next += 1;
      }
      return next > previous;
    };
  };
  const hasInputs = createHasPart(batchedPartPrefixes.inputs);
  const hasOutputs = createHasPart(batchedPartPrefixes.outputs);
  return runStarts.flatMap((runStart, index): readonly ReceivedPart[] => {
    const start = runStart + batchedRunPrefix.length;
    const id = body.toString("latin1", start, start + uuidLength);
    const inputs = hasInputs(index);
    if (hasOutputs(index)) {
      return [{ id, part: inputs ? "whole" : "outputs" }];
    }
    return inputs ? [{ id, part: "inputs" }] : [];
  });
}

function findJsonSpans(body: Buffer): readonly ReceivedPart[] {
  return findPositions(body, jsonSpanPrefix).map((position) => {
    const start = position + jsonSpanPrefix.length;
    return { id: body.toString("latin1", start, start + spanIdLength), part: "whole" };
  });
}

/** Finds runs in a multipart body, whose parts have names such as `post.<id>.inputs` and `patch.<id>.outputs`. */
function findMultipartRuns(body: Buffer): readonly ReceivedPart[] {
  return (["inputs", "outputs"] as const).flatMap((part) =>
    findPositions(body, Buffer.from(`.${part}"`)).map((position) => ({
      id: body.toString("latin1", position - uuidLength, position),
      part,
    })),
  );
}

/** Field 1 of a span in protobuf is the trace id, 16 bytes; field 2 is the span id, 8 bytes. */
const traceIdField = Buffer.from([0x0a, 16]);
const spanIdField = Buffer.from([0x12, 8]);
const spanIdAt = traceIdField.length + 16;

function findProtobufSpans(body: Buffer): readonly ReceivedPart[] {
  return findPositions(body, traceIdField)
    .filter((position) =>
      body.subarray(position + spanIdAt, position + spanIdAt + 2).equals(spanIdField),
    )
    .map((position) => {
      const start = position + spanIdAt + spanIdField.length;
      return { id: body.toString("hex", start, start + 8), part: "whole" };
    });
}

/** Finds the rows of Braintrust's log format. A span may be sent as several rows, which the server merges. */
function findLoggedRows(body: Buffer): readonly ReceivedPart[] {
  const { rows } = JSON.parse(body.toString()) as {
    readonly rows: readonly { span_id?: string; input?: unknown; output?: unknown }[];
  };
  return rows.flatMap(({ span_id: id, input, output }) => {
    const inputs: readonly ReceivedPart[] =
      id && input !== undefined ? [{ id, part: "inputs" }] : [];
    const outputs: readonly ReceivedPart[] =
      id && output !== undefined ? [{ id, part: "outputs" }] : [];
    return [...inputs, ...outputs];
  });
}

function findPositions(body: Buffer, pattern: Buffer): readonly number[] {
  const positions: number[] = [];
  for (
    let position = body.indexOf(pattern);
    position !== -1;
    position = body.indexOf(pattern, position + 1)
  ) {
    positions.push(position);
  }
  return positions;
}
