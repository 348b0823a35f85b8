import { alternativesOf, itemTypeOf, shapeOf } from "./platform-facts.ts";

/** The id in every sample. */
const sampleId = "5a3b1e9c-0d4f-4c2a-9b6e-7f8091a2b3c4";
const sampleTime = "2026-11-21T10:11:12.345678+00:00";

/** `full`: every optional value is present; `nulls`: every optional value is null. */
export type SampleKind = "full" | "nulls";

const plain: Readonly<Record<string, unknown>> = {
  string: "text",
  uuid: sampleId,
  "date-time": sampleTime,
  integer: 1,
  number: 0.5,
  boolean: true,
  object: {},
  any: {},
  null: null,
};

/** A value of the type as a server might return it, with every possible member. */
export function sampleOf(type: string, kind: SampleKind): unknown {
  const [chosen = "any"] = alternativesOf(type);
  const itemType = itemTypeOf(chosen);
  if (itemType !== undefined) {
    return [sampleOf(itemType, kind)];
  }
  if (chosen.startsWith("'")) {
    return chosen.slice(1, -1);
  }
  return chosen.startsWith("@") ? sampleShape(chosen.slice(1), kind) : plain[chosen];
}

const sampleShape = (shape: string, kind: SampleKind): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    shapeOf(shape).map(({ name, type }) => [
      name,
      kind === "nulls" && alternativesOf(type).includes("null") ? null : sampleOf(type, kind),
    ]),
  );
