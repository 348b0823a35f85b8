import { isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { isUuid } from "millrace/model";
import type { Operation } from "millrace/model";
import { parsePartName } from "millrace/wire";
import type { PartName } from "millrace/wire";
import { messageOf, RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import { BatchBuilder } from "./batch-builder.ts";
import type { ParsedBatch } from "./batch-builder.ts";
import { getBatchWalk } from "./batch-walk.ts";
import { JsonCursor } from "../../bodies/json-cursor.ts";
import { parseFeedbackPart } from "./parse-feedback.ts";
import { readValue } from "./parse-run.ts";
import type { ReceivedRun } from "./parse-run.ts";
import type { Part } from "../../bodies/multipart-parser.ts";
import { ChunkReader } from "./chunk-reader.ts";
import type { JoinedPart, TenantContent } from "./chunk-reader.ts";
import type { ShareableText } from "../shared-texts/shareable-text.ts";
import { readColumnValues } from "./run-members.ts";

/** The main part of a run: either the JSON of its members or their parsed values. */
type MainPart = Pick<ReceivedRun, "members" | "values">;

/** A run of which more parts may arrive. */
interface OpenRun {
  readonly operation: Operation;
  readonly runId: string;
  /** Absent until the main part arrives. */
  mainPart: MainPart | undefined;
  readonly fields: Map<string, Buffer>;
  /** The texts that other runs may contain, too, by field; absent if no field was sent in chunks. */
  shareable: Map<string, readonly ShareableText[]> | undefined;
  rejectionReason: string | undefined;
}

/** Assembles the parts of `POST /runs/multipart` into runs. */
export class MultipartBatch {
  readonly #builder: BatchBuilder;
  readonly #chunkReader: ChunkReader;
  readonly #runs: OpenRun[] = [];
  /** Number of runs in `#runs` that are parsed already. */
  #parsedCount = 0;
  /** For each operation and run id, the run that was received last. Field parts that follow belong to this run. */
  readonly #latest = new Map<string, OpenRun>();

  /** `content` is the cache of the tenant's content. Without it, runs whose fields are sent in chunks are rejected. */
  constructor(expectedBytes?: number, content?: TenantContent) {
    this.#builder = new BatchBuilder(expectedBytes);
    this.#chunkReader = new ChunkReader(content);
  }

  /**
   * Adds a part of the request.
   *
   * @throws RequestError 413: the request contains more operations than are allowed.
   */
  add(part: Part): void {
    const partName = parsePartName(part.name);
    if (partName === undefined) {
      const expectedNames =
        "post|patch.<run id>, post|patch.<run id>.<field>, attachment.<run id>.<name>, feedback.<run id>";
      const reason = part.fault ?? `has an unknown name; expected ${expectedNames}`;
      this.#builder.reject({ id: null, operation: null, reason: describePart(part, reason) });
      return;
    }
    switch (partName.kind) {
      case "run":
        this.#addMainPart(partName, part);
        break;
      case "field":
        this.#addFieldPart(partName, part);
        break;
      case "attachment":
        this.#addAttachment(partName, part);
        break;
      case "feedback":
        this.#addFeedback(partName, part);
    }
  }

  build(): ParsedBatch {
    while (this.#parsedCount < this.#runs.length) {
      this.#parseNext();
    }
    return this.#builder.build();
  }

  /**
   * Parses the runs in slices, between which other requests are served. {@link build} then parses only what is left.
   */
  async parse(): Promise<void> {
    let sliceStartMs = performance.now();
    while (this.#parsedCount < this.#runs.length) {
      this.#parseNext();
      if (performance.now() - sliceStartMs > serverLimits.parseSliceMs) {
        await setImmediate();
        sliceStartMs = performance.now();
      }
    }
  }

  #parseNext(): void {
    const nextRun = this.#runs[this.#parsedCount];
    this.#parsedCount += 1;
    if (nextRun === undefined) {
      return;
    }
    const { operation, runId, mainPart, fields, shareable, rejectionReason } = nextRun;
    if (rejectionReason !== undefined) {
      this.#builder.reject({ id: runId, operation, reason: rejectionReason });
    } else if (mainPart === undefined) {
      const reason = `fields without a run: the request has no part ${operation}.${runId}`;
      this.#builder.reject({ id: runId, operation, reason });
    } else {
      this.#builder.addRun(
        { operation, ...mergeFields(mainPart, fields), shareable },
        { position: "required", pathId: runId.toLowerCase() },
      );
    }
  }

  #addMainPart(name: Extract<PartName, { kind: "run" }>, part: Part): void {
    const latestRun = this.#latest.get(createKey(name));
    // A repeated part of the same run is a second operation; the field parts that follow belong to it.
    const run =
      latestRun === undefined || latestRun.mainPart !== undefined
        ? this.#addOpenRun(name)
        : latestRun;
    run.mainPart = noMembers;
    this.#readPart(run, part, (json) => {
      const values = readColumnValues(json);
      run.mainPart =
        values === undefined
          ? { members: new JsonCursor(json).readMembers() }
          : { ...noMembers, values };
    });
  }

  #addFieldPart(name: Extract<PartName, { kind: "field" }>, part: Part): void {
    const run = this.#latest.get(createKey(name)) ?? this.#addOpenRun(name);
    const joinedPart: JoinedPart = this.#chunkReader.joinPart(part, () =>
      readValue(run.mainPart ?? noMembers, "trace_id"),
    );
    this.#readPart(run, joinedPart, (json) => {
      if (getBatchWalk()?.isJson(json) !== true) {
        // The WebAssembly module can't describe the error, so the cursor parses the text again and throws an error
        // with a description.
        new JsonCursor(json).assertOneValue();
      }
      run.fields.set(name.field, json);
      const { shareable } = joinedPart;
      if (shareable !== undefined) {
        run.shareable ??= new Map();
        run.shareable.set(name.field, shareable);
      } else {
        // The field replaces an earlier one of the same name.
        run.shareable?.delete(name.field);
      }
    });
  }

  /** Passes the part's bytes to `onBytes`, or records why the run is invalid. */
  #readPart(run: OpenRun, part: Part, onBytes: (json: Buffer) => void): void {
    if (run.rejectionReason !== undefined) {
      return;
    }
    if (part.fault !== undefined || !isUtf8(part.bytes)) {
      run.rejectionReason = describePart(part, part.fault ?? "is not UTF-8");
      return;
    }
    try {
      onBytes(part.bytes);
    } catch (cause) {
      run.rejectionReason = describePart(part, `is ${messageOf(cause)}`);
    }
  }

  #addAttachment({ runId, name }: Extract<PartName, { kind: "attachment" }>, part: Part): void {
    const fault = part.fault ?? (isUuid(runId) ? undefined : "has a run id that is not a UUID");
    if (fault !== undefined) {
      this.#builder.reject({ id: runId, operation: null, reason: describePart(part, fault) });
      return;
    }
    const { contentType } = part;
    this.#builder.addAttachment({ runId: runId.toLowerCase(), name, contentType }, part.bytes);
  }

  #addFeedback({ runId }: Extract<PartName, { kind: "feedback" }>, part: Part): void {
    try {
      if (part.fault !== undefined || !isUtf8(part.bytes)) {
        throw new RequestError(422, part.fault ?? "is not UTF-8");
      }
      this.#builder.addFeedback(parseFeedbackPart(part.bytes, runId));
    } catch (cause) {
      const reason = describePart(part, messageOf(cause));
      this.#builder.reject({ id: runId, operation: null, reason });
    }
  }

  #addOpenRun({ operation, runId }: { operation: Operation; runId: string }): OpenRun {
    if (this.#runs.length >= serverLimits.operationsMax) {
      throw new RequestError(
        413,
        `more than ${serverLimits.operationsMax} operations in one request: send fewer per request`,
      );
    }
    const run: OpenRun = {
      operation,
      runId,
      mainPart: undefined,
      fields: new Map(),
      shareable: undefined,
      rejectionReason: undefined,
    };
    this.#runs.push(run);
    this.#latest.set(createKey({ operation, runId }), run);
    return run;
  }
}

const noMembers: MainPart = { members: new Map() };

/** Adds the field parts to a run's members; a field part replaces the member of the same name. */
const mergeFields = (
  { members, ...mainPart }: MainPart,
  fields: MainPart["members"],
): MainPart => ({
  ...mainPart,
  members: members.size === 0 ? fields : new Map([...members, ...fields]),
});

const createKey = ({ operation, runId }: { operation: Operation; runId: string }): string =>
  `${operation}.${runId}`;

const describePart = ({ name }: Part, reason: string): string =>
  `part ${JSON.stringify(name.slice(0, 120))} ${reason}`;
