import { alternativesOf, itemTypeOf, shapeOf } from "./platform-facts.ts";

/** Ids and the like of everything that is made up. */
export const sampleId = "5a3b1e9c-0d4f-4c2a-9b6e-7f8091a2b3c4";
const sampleTime = "2026-11-21T10:11:12.345678+00:00";

/** `full`: all members; `bare`: only those that a server must give. */
export type SampleKind = "full" | "bare";

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

/** A value of the type, as a server might answer it. */
export function sampleOf(type: string, kind: SampleKind): unknown {
  const alternatives = alternativesOf(type);
  const chosen = alternatives[0] ?? "any";
  const itemType = itemTypeOf(chosen);
  if (itemType !== undefined) {
    return [sampleOf(itemType, kind)];
  }
  if (chosen.startsWith("'")) {
    return chosen.slice(1, -1);
  }
  if (!chosen.startsWith("@")) {
    return plain[chosen];
  }
  const members = shapeOf(chosen.slice(1)).filter(
    ({ isOptional }) => kind === "full" || !isOptional,
  );
  return Object.fromEntries(members.map(({ name, type: one }) => [name, sampleOf(one, kind)]));
}
