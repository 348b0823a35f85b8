import process from "node:process";

/**
 * Reads a variable with the prefix `MILLRACE_`, `LANGSMITH_` or `LANGCHAIN_`, in this order. An empty variable counts
 * as unset.
 */
export const readVariable = (name: string): string | undefined =>
  ["MILLRACE", "LANGSMITH", "LANGCHAIN"]
    .map((prefix) => process.env[`${prefix}_${name}`])
    .find((value) => value !== undefined && value !== "");

/** Whether calls of traced functions are recorded. As in langsmith, only the value `true` turns recording on. */
export function isEnvTracingEnabled(tracingEnabled?: boolean): boolean {
  return tracingEnabled ?? ["TRACING_V2", "TRACING"].some((name) => readVariable(name) === "true");
}

/** The project of runs whose project is not set. */
export const getDefaultProjectName = (): string =>
  readVariable("PROJECT") ?? process.env["LANGCHAIN_SESSION"] ?? "default";

const warned = new Set<string>();

/** Writes a warning to standard error, once per process. */
export function warnOnce(message: string): void {
  if (!warned.has(message)) {
    warned.add(message);
    console.warn(`[@millrace/langsmith] ${message}`);
  }
}
