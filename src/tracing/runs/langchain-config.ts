import { isObject } from "../tape/placeholder.ts";

/** Where LangChain keeps the config that its runnables hand down implicitly. */
export const childConfigKey = Symbol.for("lc:child_config");
/** Where LangChain keeps its context variables. */
export const contextVariablesKey = Symbol.for("lc:context_variables");

type Fields = Readonly<Record<PropertyKey, unknown>>;

/** What stands for the run that runnables are to nest below. */
interface NestedRun {
  readonly id: string;
  readonly client: unknown;
  readonly project_name: string;
}

/**
 * The config that LangChain passes down, adapted for calls below a run of ours: its callbacks name that run as the
 * parent, and its tracer has the run in its map. `bridge` represents the run to LangChain.
 */
export function nestConfig(config: unknown, bridge: NestedRun): unknown {
  if (!isObject(config) || !isManager(config["callbacks"])) {
    return config;
  }
  const callbacks: unknown = config["callbacks"].copy();
  if (!isObject(callbacks) || !Array.isArray(callbacks["handlers"])) {
    return config;
  }
  const tracer: unknown = callbacks["handlers"].find(isTracer);
  if (isTracer(tracer)) {
    // The tracer is shared with the runs around ours, which it goes on to record as before.
    tracer.updateFromRunTree({
      ...bridge,
      client: tracer["client"] ?? bridge.client,
      project_name: tracer["projectName"] ?? bridge.project_name,
      replicas: tracer["replicas"],
      reference_example_id: tracer["exampleId"],
    });
  }
  // Without a tracer LangChain makes one below, which learns of the run from the context.
  Reflect.set(callbacks, "_parentRunId", bridge.id);
  return { ...config, callbacks };
}

const isManager = (value: unknown): value is Fields & { copy(): unknown } =>
  isObject(value) && typeof value["copy"] === "function" && Array.isArray(value["handlers"]);

const isTracer = (value: unknown): value is Fields & { updateFromRunTree(run: unknown): void } =>
  isObject(value) &&
  value["name"] === "langchain_tracer" &&
  typeof value["updateFromRunTree"] === "function";
