import type { RedactionPlan } from "../model/options/redaction-search.ts";
import { field, fieldHeadBytes, recordHeadBytes } from "../model/records/tape-format.ts";
import { isPlainObject, toTags } from "../tracing/tape/payload.ts";
import type { PayloadFilters } from "../tracing/tape/payload-filters.ts";
import type { InheritedFields } from "../tracing/tape/recorder.ts";
import { Tape } from "../tracing/tape/tape.ts";
import { TapeWriter } from "../tracing/tape/tape-writer.ts";
import { ValueWriter } from "../tracing/tape/value-writer.ts";
import { readTaggedValue } from "../workers/exchange/tagged-values.ts";
import { Redactor } from "../workers/redaction/redactor.ts";

/** Initial size of the buffer in which tags and metadata are masked, in bytes. It grows as needed. */
const tapeBytes = 4_096;
/** Maximum size of the tags, and of the metadata, in bytes. A header carries at most 8,192 characters of each. */
const maxFieldBytes = 65_536;

const nothing: InheritedFields = { tags: undefined, metadata: undefined };

/** The options that determine what the headers of requests may contain. */
interface PropagationRules {
  readonly filters: PayloadFilters;
  /** The redaction rules; `undefined` if there are none. */
  readonly plan: RedactionPlan | undefined;
  /** Called if the rules can't be applied, so that tags and metadata are left out. */
  readonly onFailure: () => void;
}

/**
 * Creates the function that applies `hideMetadata` and `redact` to the tags and metadata in the headers of requests.
 * Headers are written during the call, so the rules are applied on this thread. What can't be filtered is left out.
 * Returns `undefined` if no option concerns headers.
 */
export function createPropagationFilter({
  filters,
  plan,
  onFailure,
}: PropagationRules): ((fields: InheritedFields) => InheritedFields) | undefined {
  if (plan === undefined && !filters.hidesAnyMetadata) {
    return undefined;
  }
  const redactor = plan === undefined ? undefined : new Redactor(plan);
  return ({ tags, metadata }) => {
    try {
      const filtered = { tags, metadata: filters.filterPropagatedMetadata(metadata) };
      const masked = redactor === undefined ? filtered : maskFields(filtered, redactor);
      if (masked !== undefined) {
        return masked;
      }
    } catch {
      // The error is dropped, because its message may contain what should be masked.
    }
    onFailure();
    return nothing;
  };
}

/**
 * Writes the fields to a tape (the buffer that a worker would receive), masks them there, and reads them again. Returns
 * `undefined` if a rule failed, or if the fields are too long for a header.
 */
function maskFields(
  { tags, metadata }: InheritedFields,
  redactor: Redactor,
): InheritedFields | undefined {
  if (tags === undefined && metadata === undefined) {
    return nothing;
  }
  const writer = new TapeWriter(
    new Tape(tapeBytes),
    (minBytes) => new Tape(minBytes * 2),
    maxFieldBytes,
  );
  const values = new ValueWriter(writer);
  writer.beginRecord("post");
  for (const [code, value] of [
    [field.metadata, metadata ?? null],
    [field.tags, tags ?? null],
  ] as const) {
    const fieldStart = writer.beginField(code);
    values.write(value, code);
    writer.endField(fieldStart);
  }
  writer.endRecord();
  const { tape } = writer;
  const { failedRecords } = redactor.redact(tape.bytes.subarray(0, tape.usedBytes));
  if (failedRecords > 0 || writer.truncatedFieldCount > 0) {
    return undefined;
  }
  const maskedMetadata = readTaggedValue(tape, recordHeadBytes + fieldHeadBytes);
  const maskedTags = readTaggedValue(tape, maskedMetadata.end + fieldHeadBytes);
  return {
    tags: toTags(maskedTags.value),
    metadata: isPlainObject(maskedMetadata.value) ? maskedMetadata.value : undefined,
  };
}
