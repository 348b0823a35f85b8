import { mapSpan, toJson } from "millrace/spans";
import type { Span } from "millrace/spans";
import { BatchBuilder } from "../runs/ingest/batch-builder.ts";
import type { ParsedBatch } from "../runs/ingest/batch-builder.ts";
import { sortParentsFirst } from "./sort-parents-first.ts";

/** Properties that all spans of a request have in common. */
export interface SpanRequest {
  /** The project of spans that name no project. */
  readonly project?: string | undefined;
  readonly expectedBytes?: number;
}

/** Converts spans to runs. A span whose run is invalid is rejected and does not affect the others. */
export function toBatch(
  spans: readonly Span[],
  { project, expectedBytes }: SpanRequest = {},
): ParsedBatch {
  const builder = new BatchBuilder(expectedBytes);
  for (const span of sortParentsFirst(spans)) {
    const { members, span: position } = mapSpan(span, project);
    const run = { operation: "post" as const, members: toTexts(members), span: position };
    builder.addRun(run, { position: "optional" });
  }
  return builder.build();
}

const toTexts = (members: Readonly<Record<string, unknown>>): ReadonlyMap<string, Buffer> =>
  new Map(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, Buffer.from(toJson(value))]),
  );
