import { geminiOptions } from "millrace/google";
import type { AnyFunction } from "../any.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";
import { recordCalls, readMember, createUnknownClientError } from "./wrap-options.ts";

interface GoogleGenAIType {
  models: { generateContent: AnyFunction; generateContentStream: AnyFunction };
}

/**
 * Records the calls of a `GoogleGenAI` client and its chats, as `geminiOptions` of `millrace/google` does. Returns the
 * same client.
 *
 * @throws UnsupportedError if `gemini` is not a client of `@google/genai`.
 */
export function wrapGemini<T extends GoogleGenAIType>(
  gemini: T,
  options?: Partial<RunTreeConfig>,
): T {
  recordCalls({
    wrapperName: "wrapGemini",
    client: gemini,
    options,
    wrap: (wrapOptions) => {
      const clientOptions = readMember(gemini, ["apiClient", "clientOptions"]);
      if (typeof clientOptions !== "object" || clientOptions === null) {
        throw createUnknownClientError("wrapGemini", "new GoogleGenAI({ apiKey })");
      }
      const { httpOptions } = clientOptions as { readonly httpOptions?: object };
      const traced = geminiOptions({ httpOptions }, wrapOptions);
      Reflect.set(clientOptions, "httpOptions", traced.httpOptions);
    },
    resources: [["models"]],
    methodNames: ["generateContent", "generateContentStream"],
  });
  return gemini;
}
