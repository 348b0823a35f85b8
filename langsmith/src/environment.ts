import process from "node:process";

/** Reads a variable of langsmith: with the prefix `LANGSMITH_`, else with the older prefix `LANGCHAIN_`. */
export const readVariable = (name: string): string | undefined =>
  process.env[`LANGSMITH_${name}`] ?? process.env[`LANGCHAIN_${name}`];

/** Whether runs of `traceable` are recorded. As with langsmith, only the text `true` in a variable turns it on. */
export function isEnvTracingEnabled(tracingEnabled?: boolean): boolean {
  return tracingEnabled ?? ["TRACING_V2", "TRACING"].some((name) => readVariable(name) === "true");
}

/** The project of runs that name none. */
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
