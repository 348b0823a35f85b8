import { BatchBuilder } from "../runs/ingest/batch-builder.ts";
import type { ParsedBatch } from "../runs/ingest/batch-builder.ts";
import { mapSpan } from "./map-span.ts";
import { sortParentsFirst } from "./sort-parents-first.ts";
import type { Span } from "./span.ts";

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
    builder.addRun({ operation: "post", ...mapSpan(span, project) }, { position: "optional" });
  }
  return builder.build();
}
