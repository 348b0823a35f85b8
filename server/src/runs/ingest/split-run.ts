import type { Operation } from "millrace/model";
import { decodeText, parseValue } from "../../bodies/json-text.ts";
import type { FindMembers } from "../usage/run-measures.ts";
import type { BatchIndex } from "./batch-index.ts";
import type { ReceivedRun } from "./parse-run.ts";
import { columnMembers, isPayloadMember } from "./run-members.ts";
import type { columnNames } from "./run-members.ts";
import { memberField, wordsPerMember, unknownNameCode } from "./walk-layout.ts";

/**
 * Number of bytes that are decoded at once. The members that have columns are usually adjacent and fit into this
 * number of bytes, so one call decodes all of them.
 */
const decodedAtOnceBytes = 512;

/** A string of ASCII characters without escapes: its value is the text between the quotes. */
const plainTextPattern = /^"[^\\\u0080-\u00ff]*"$/;

/**
 * Creates an object with all members, because objects of one shape are faster to create than those whose members are
 * added one by one.
 */
const createEmptyValues = (): Record<string, unknown> =>
  ({
    id: undefined,
    trace_id: undefined,
    dotted_order: undefined,
    session_id: undefined,
    session_name: undefined,
    run_type: undefined,
    start_time: undefined,
    end_time: undefined,
    parent_run_id: undefined,
    reference_example_id: undefined,
    name: undefined,
  }) satisfies Record<(typeof columnNames)[number], undefined>;

/**
 * Separates the members of the runs of one request. A value is not parsed again if the previous run has the same value,
 * because consecutive runs have many values in common.
 */
export class RunSplitter {
  readonly #index: BatchIndex;
  readonly #findMembers: FindMembers | undefined;
  /** For each member code, the text that was parsed last, and its value. */
  readonly #lastTexts: string[] = [];
  readonly #lastValues: unknown[] = [];
  /** The text that was decoded last, and its position in the body. */
  #decoded = "";
  #decodedFrom = 0;

  constructor(index: BatchIndex, findMembers?: FindMembers) {
    this.#index = index;
    this.#findMembers = findMembers;
  }

  /**
   * Separates the members in the rows of the index from `first` to `end` into values for columns and JSON for the
   * payload. A later member replaces an earlier member of the same name.
   */
  split(operation: Operation, first: number, end: number): ReceivedRun {
    const { body, names, members: memberTable } = this.#index;
    const values = createEmptyValues();
    const members = new Map<string, Buffer>();
    let isPayloadContiguous = true;
    let payloadStart = 0;
    let payloadEnd = 0;
    let lastPayloadRow = -1;
    for (let row = first; row < end; row += 1) {
      const rowStart = row * wordsPerMember;
      const code = memberTable[rowStart + memberField.code] ?? unknownNameCode;
      const valueStart = memberTable[rowStart + memberField.valueStart] ?? 0;
      const valueEnd = memberTable[rowStart + memberField.valueEnd] ?? 0;
      const name = names[code] ?? this.#readName(rowStart);
      if (columnMembers.has(name)) {
        values[name] = this.#readValue(code, valueStart, valueEnd);
        if (name !== "name") {
          continue;
        }
        isPayloadContiguous = !members.delete(name) && isPayloadContiguous;
      }
      const raw = body.subarray(valueStart, valueEnd);
      if (name === "name" && !isPayloadMember(name, raw)) {
        continue;
      }
      const nameStart = memberTable[rowStart + memberField.nameStart] ?? 0;
      payloadStart = lastPayloadRow === -1 ? nameStart : payloadStart;
      isPayloadContiguous &&=
        (lastPayloadRow === -1 || lastPayloadRow === row - 1) && !members.has(name);
      lastPayloadRow = row;
      payloadEnd = valueEnd;
      members.set(name, raw);
    }
    const rawMembers =
      isPayloadContiguous && members.size > 0 ? body.subarray(payloadStart, payloadEnd) : undefined;
    return { operation, members, values, rawMembers, findMembers: this.#findMembers };
  }

  #readName(rowStart: number): string {
    const { body, members } = this.#index;
    return decodeText(
      body.subarray(
        members[rowStart + memberField.nameStart],
        members[rowStart + memberField.nameEnd],
      ),
    );
  }

  /**
   * Parses a value that is stored in a column. The last value of each known name is cached, because many values repeat.
   */
  #readValue(code: number, from: number, to: number): unknown {
    if (code === unknownNameCode) {
      return parseValue(this.#index.body.subarray(from, to));
    }
    const text = this.#readLatin1(from, to);
    if (this.#lastTexts[code] !== text) {
      this.#lastTexts[code] = text;
      this.#lastValues[code] = plainTextPattern.test(text)
        ? text.slice(1, -1)
        : parseValue(this.#index.body.subarray(from, to));
    }
    return this.#lastValues[code];
  }

  /**
   * Returns the bytes of a range as Latin-1. Most ranges were decoded together with the other columns of the run,
   * because decoding each alone would take longer.
   */
  #readLatin1(from: number, to: number): string {
    if (from < this.#decodedFrom || to > this.#decodedFrom + this.#decoded.length) {
      this.#decoded = this.#index.body.toString(
        "latin1",
        from,
        Math.max(to, from + decodedAtOnceBytes),
      );
      this.#decodedFrom = from;
    }
    return this.#decoded.slice(from - this.#decodedFrom, to - this.#decodedFrom);
  }
}
