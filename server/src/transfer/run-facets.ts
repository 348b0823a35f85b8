import { readMembers } from "../datasets/examples/parse/example-body.ts";
import { readPayloadFacets } from "../runs/facets.ts";
import type { PortablePayload } from "./portable-row.ts";

/** Computes the facets of a run from its payloads, as they were computed when the payloads arrived. */
export function readRunFacets(payloads: readonly PortablePayload[]): readonly string[] {
  const [only] = payloads;
  return payloads.length === 1 && only !== undefined
    ? readPayloadFacets(readMembers(only.body))
    : [...new Set(payloads.flatMap(({ body }) => readPayloadFacets(readMembers(body))))];
}
