import { toRecord } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";

/** A node of LangChain's serialization format. */
export interface LangChainNode {
  /** The class name: the last item of the node's `id`. */
  readonly name: string;
  readonly kwargs: JsonMembers;
}

/** Parses a node of a manifest; `undefined` for any other value. */
export function toNode(value: unknown): LangChainNode | undefined {
  const { lc, id, kwargs } = toRecord(value);
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  return lc === undefined || typeof name !== "string"
    ? undefined
    : { name, kwargs: toRecord(kwargs) };
}
