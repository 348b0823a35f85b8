import type { KeyValues } from "../main/index.ts";

/** The payload of a run: an object as it is, any other value as the member with this name. */
export const toPayload = (value: unknown, member: string): KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as KeyValues)
    : { [member]: value };

/** The value that {@link toPayload} converted to the outputs of a run. */
export function fromOutputs(outputs: KeyValues | undefined): unknown {
  return outputs !== undefined && Object.keys(outputs).join() === "outputs"
    ? outputs["outputs"]
    : outputs;
}

/** The metadata of a row's run. */
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
