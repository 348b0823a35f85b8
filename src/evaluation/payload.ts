import type { KeyValues } from "../main/index.ts";

/**
 * Converts a value to the payload of a run: returns an object unchanged, and any other value as an object with one
 * member of the given name.
 */
export const toPayload = (value: unknown, member: string): KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as KeyValues)
    : { [member]: value };

/** Reverses {@link toPayload} for the outputs of a run: returns the member `outputs` if it is the only one. */
export function fromOutputs(outputs: KeyValues | undefined): unknown {
  return outputs !== undefined && Object.keys(outputs).join() === "outputs"
    ? outputs["outputs"]
    : outputs;
}

/** Creates the metadata of a row's run. */
export const createRunMetadata = ({
  exampleId,
  repetition,
}: {
  readonly exampleId: string;
  readonly repetition: number;
}): KeyValues => ({
  example_id: exampleId,
  repetition,
});
