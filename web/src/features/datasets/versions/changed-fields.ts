import type { ExamplePreview, TextPreview } from "../examples/example.ts";
import { diffExamples } from "./diff-examples.ts";
import type { FieldChange } from "./diff-examples.ts";

/** The changed fields of an example, as far as the previews of its payloads show them. */
export interface ChangedFields {
  readonly fields: readonly FieldChange[];
  /** Whether a payload is longer than its preview. Other fields may then also have changed. */
  readonly isPartial: boolean;
}

/** Finds the fields that differ between the previews of an example in two versions. */
export function findChangedFields(
  before: ExamplePreview | undefined,
  after: ExamplePreview | undefined,
): ChangedFields {
  const previews = [before, after].flatMap((example) =>
    example === undefined ? [] : [example.inputs, example.outputs, example.metadata],
  );
  return {
    fields: diffExamples(before && toComparable(before), after && toComparable(after)),
    isPartial: previews.some((preview) => preview !== undefined && !isWhole(preview)),
  };
}

const toComparable = ({ inputs, outputs, metadata, splits }: ExamplePreview) => ({
  inputs: toValue(inputs),
  outputs: outputs === undefined ? undefined : toValue(outputs),
  metadata: toValue(metadata),
  splits,
});

/** Returns the value of a payload, or its text if the text was cut off. */
function toValue(preview: TextPreview): unknown {
  if (!isWhole(preview)) {
    return preview.text;
  }
  try {
    return JSON.parse(preview.text);
  } catch {
    return preview.text; // A complete payload should be valid JSON. If it is not, its text is compared.
  }
}

const isWhole = ({ text, chars }: TextPreview): boolean => text.length >= chars;
