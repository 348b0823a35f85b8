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
import { findWalk } from "./batch-walk.ts";
import { JsonCursor } from "../../bodies/json-cursor.ts";
import { parseFeedbackPart } from "./parse-feedback.ts";
import { valueOf } from "./parse-run.ts";
import type { ReceivedRun } from "./parse-run.ts";
import type { Part } from "../../bodies/multipart-parser.ts";
import { PieceReader } from "./piece-reader.ts";
import type { TenantContent } from "./piece-reader.ts";
import { readColumnValues } from "./split-run.ts";

/** What the main part holds: members as they came, or the values of all. */
type Main = Pick<ReceivedRun, "members" | "values">;

/** A run whose parts are still coming. */
interface OpenRun {
  readonly operation: Operation;
  readonly runId: string;
  /** Absent until the main part comes. */
  main: Main | undefined;
  readonly fields: Map<string, Buffer>;
  fault: string | undefined;
}

/** Puts the parts of `POST /runs/multipart` together to runs. */
export class MultipartBatch {
  readonly #builder: BatchBuilder;
  readonly #pieces: PieceReader;
  readonly #runs: OpenRun[] = [];
  /** How many of them are parsed. */
  #parsed = 0;
  /** By operation and id: the run to which the next field belongs. */
  readonly #latest = new Map<string, OpenRun>();

  /** `content`: what was received of the tenant before; without it, no field may come in pieces. */
  constructor(expectedBytes?: number, content?: TenantContent) {
    this.#builder = new BatchBuilder(expectedBytes);
    this.#pieces = new PieceReader(content);
  }

  /** @throws RequestError more operations than one request may hold. */
  add(part: Part): void {
    const name = parsePartName(part.name);
    if (name === undefined) {
      const known =
        "post|patch.<run id>, post|patch.<run id>.<field>, attachment.<run id>.<name>, feedback.<run id>";
      const reason = part.fault ?? `names nothing of the wire, which has ${known}`;
      this.#builder.reject({ id: null, operation: null, reason: describe(part, reason) });
      return;
    }
    switch (name.kind) {
      case "run":
        this.#addMain(name, part);
        break;
      case "field":
        this.#addField(name, part);
        break;
      case "attachment":
        this.#addAttachment(name, part);
        break;
      case "feedback":
        this.#addFeedback(name, part);
    }
  }

  build(): ParsedBatch {
    while (this.#parsed < this.#runs.length) {
      this.#parseNext();
    }
    return this.#builder.build();
  }

  /** Parses the runs, with turns for others where they are many: then there is little left to build. */
  async parse(): Promise<void> {
    let began = performance.now();
    while (this.#parsed < this.#runs.length) {
      this.#parseNext();
      if (performance.now() - began > serverLimits.parseSliceMs) {
        await setImmediate();
        began = performance.now();
      }
    }
  }

  #parseNext(): void {
    const next = this.#runs[this.#parsed];
    this.#parsed += 1;
    if (next === undefined) {
      return;
    }
    const { operation, runId, main, fields, fault } = next;
    if (fault !== undefined) {
      this.#builder.reject({ id: runId, operation, reason: fault });
    } else if (main === undefined) {
      const reason = `fields without the run: there is no part ${operation}.${runId}`;
      this.#builder.reject({ id: runId, operation, reason });
    } else {
      this.#builder.addRun(
        { operation, ...withFields(main, fields) },
        { place: "required", pathId: runId.toLowerCase() },
      );
    }
  }

  #addMain(name: Extract<PartName, { kind: "run" }>, part: Part): void {
    const known = this.#latest.get(keyOf(name));
    // The same run again in one request is a second operation; its fields follow it.
    const run = known === undefined || known.main !== undefined ? this.#open(name) : known;
    run.main = noMembers;
    this.#read(run, part, (json) => {
      const values = readColumnValues(json);
      run.main =
        values === undefined
          ? { members: new JsonCursor(json).readMembers() }
          : { ...noMembers, values };
    });
  }

  #addField(name: Extract<PartName, { kind: "field" }>, part: Part): void {
    const run = this.#latest.get(keyOf(name)) ?? this.#open(name);
    this.#read(
      run,
      this.#pieces.joined(part, () => valueOf(run.main ?? noMembers, "trace_id")),
      (json) => {
        if (findWalk()?.isJson(json) !== true) {
          // It knows what is wrong, if anything is.
          new JsonCursor(json).readWhole();
        }
        run.fields.set(name.field, json);
      },
    );
  }

  /** Hands on the part's bytes, or remembers what is wrong with the run. */
  #read(run: OpenRun, part: Part, take: (json: Buffer) => void): void {
    if (run.fault !== undefined) {
      return;
    }
    if (part.fault !== undefined || !isUtf8(part.bytes)) {
      run.fault = describe(part, part.fault ?? "is not UTF-8");
      return;
    }
    try {
      take(part.bytes);
    } catch (cause) {
      run.fault = describe(part, `is ${messageOf(cause)}`);
    }
  }

  #addAttachment({ runId, name }: Extract<PartName, { kind: "attachment" }>, part: Part): void {
    const fault = part.fault ?? (isUuid(runId) ? undefined : "names no run: its id is not a UUID");
    if (fault !== undefined) {
      this.#builder.reject({ id: runId, operation: null, reason: describe(part, fault) });
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
      const reason = describe(part, messageOf(cause));
      this.#builder.reject({ id: runId, operation: null, reason });
    }
  }

  #open({ operation, runId }: { operation: Operation; runId: string }): OpenRun {
    if (this.#runs.length >= serverLimits.operationsMax) {
      throw new RequestError(
        413,
        `more than ${serverLimits.operationsMax} operations in one request: send fewer in one`,
      );
    }
    const run: OpenRun = { operation, runId, main: undefined, fields: new Map(), fault: undefined };
    this.#runs.push(run);
    this.#latest.set(keyOf({ operation, runId }), run);
    return run;
  }
}

const noMembers: Main = { members: new Map() };

/** A field replaces the member of its name. */
const withFields = ({ members, ...main }: Main, fields: Main["members"]): Main => ({
  ...main,
  members: members.size === 0 ? fields : new Map([...members, ...fields]),
});

const keyOf = ({ operation, runId }: { operation: Operation; runId: string }): string =>
  `${operation}.${runId}`;

const describe = ({ name }: Part, reason: string): string =>
  `part ${JSON.stringify(name.slice(0, 120))} ${reason}`;
