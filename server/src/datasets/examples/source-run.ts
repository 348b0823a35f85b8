import { JsonCursor } from "../../bodies/json-cursor.ts";
import { toRunJson } from "../../runs/serializers/run-json.ts";
import type { StoredRun } from "../../runs/run-row.ts";
import type { ExampleDraft } from "./example.ts";

const inputsAndOutputs: ReadonlySet<string> = new Set(["inputs", "outputs"]);

/**
 * Returns the inputs and outputs of a run in the form in which an example stores them. Values that are not objects are
 * left out.
 */
export function readInputsAndOutputs(run: StoredRun): Pick<ExampleDraft, "inputs" | "outputs"> {
  const members = new JsonCursor(toRunJson(run, { select: inputsAndOutputs })).readMembers();
  const [inputs, outputs] = ["inputs", "outputs"].map((name) => {
    const text = members.get(name)?.toString("utf8") ?? "null";
    return text.startsWith("{") ? text : null;
  });
  return { inputs: inputs ?? "{}", outputs: outputs ?? null };
}
