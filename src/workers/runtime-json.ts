import fastJson from "fast-json-stringify";
import type { RuntimeFacts } from "../model/shipping.ts";

const text = { type: "string" } as const;

/**
 * The one object of a run whose schema is the contract: exactly these keys, each a text.
 * Made once in a worker and copied into each run; free-form fields never pass through here.
 */
export const runtimeJson: (facts: RuntimeFacts) => string = fastJson({
  type: "object",
  additionalProperties: false,
  required: ["sdk", "sdk_version", "runtime", "runtime_version", "platform"],
  properties: {
    sdk: text,
    sdk_version: text,
    runtime: text,
    runtime_version: text,
    platform: text,
  },
});
