import { AttributeBag } from "./attribute-bag.ts";
import { readJson, readMembers } from "./json-text.ts";
import { takePosition } from "./span-position.ts";
import type { SpanPosition } from "./span-position.ts";
import type { Span } from "./span.ts";

/** A run that an SDK of ours sent as a span, as it would have sent it in its own format. */
export interface RestoredRun {
  readonly members: ReadonlyMap<string, Buffer>;
  readonly span: SpanPosition["span"];
}

/** The attribute with all members of the run except its payloads. Only our SDK sends it. */
const runAttribute = "millrace.run";

/** The attributes with the payloads of the run, each of which is the JSON of the payload. */
const payloadAttributes: readonly (readonly [member: string, ...names: string[]])[] = [
  ["inputs", "input.value", "gen_ai.tool.call.arguments"],
  ["outputs", "output.value", "gen_ai.tool.call.result"],
  ["extra", "millrace.extra"],
  ["events", "millrace.events"],
  ["error", "millrace.error"],
  ["serialized", "millrace.serialized"],
];

/**
 * Restores a run that our SDK sent as a span (the option `otlp`). Returns `undefined` for any other span, and if something
 * on the way changed an attribute so that it is not JSON any more: the span is then converted like all others.
 */
export function restoreRun(span: Span): RestoredRun | undefined {
  const encoded = span.attributes.get(runAttribute);
  const run = typeof encoded === "string" ? readMembers(encoded) : undefined;
  if (run?.has("id") !== true) {
    return undefined;
  }
  const bag = new AttributeBag(span.attributes);
  const position = takePosition(span, bag);
  const members = new Map<string, Buffer>();
  for (const [name, { text }] of run) {
    members.set(name, Buffer.from(text));
  }
  for (const [member, ...names] of payloadAttributes) {
    const value = bag.peek(...names);
    if (value !== undefined) {
      const json = typeof value === "string" ? readJson(value) : undefined;
      if (json === undefined) {
        return undefined;
      }
      members.set(member, Buffer.from(json.text));
    }
  }
  return { members, span: position.span };
}
