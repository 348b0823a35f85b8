import { isObject } from "../../tape/override-methods.ts";
import { nestClient } from "./inherited-ids.ts";

/** The key under which LangChain stores the config that its runnables pass to nested calls implicitly. */
export const childConfigKey = Symbol.for("lc:child_config");
/** The key under which LangChain stores its context variables. */
export const contextVariablesKey = Symbol.for("lc:context_variables");

/** An object whose fields are not known. */
type Fields = Readonly<Record<PropertyKey, unknown>>;

/** The fields that LangChain's tracer reads from the parent run of a runnable. */
interface ParentRunFields {
  readonly id: string;
  readonly dotted_order: string;
  readonly client: unknown;
  readonly project_name: string;
}

/**
 * Adapts the config that LangChain passes to nested calls, for calls inside a Millrace run: the config's callbacks name
 * that run as the parent, and the tracer among the callbacks adds the run to its map of runs. `bridge` represents the
 * run to LangChain.
 */
export function nestConfig(config: unknown, bridge: ParentRunFields): unknown {
  if (!isObject(config) || !isCallbackManager(config["callbacks"])) {
    return config;
  }
  const callbacks: unknown = config["callbacks"].copy();
  if (!isObject(callbacks) || !Array.isArray(callbacks["handlers"])) {
    return config;
  }
  const tracer: unknown = callbacks["handlers"].find(isTracer);
  if (isTracer(tracer)) {
    // The tracer is shared with the surrounding runs and must continue to record them, so the tracer's own settings are
    // kept.
    tracer.updateFromRunTree({
      ...bridge,
      client: nestClient(tracer["client"], bridge),
      project_name: tracer["projectName"] ?? bridge.project_name,
      replicas: tracer["replicas"],
      reference_example_id: tracer["exampleId"],
    });
  }
  // Without a tracer here, LangChain creates a tracer for the nested call. That tracer reads the run from the context.
  Reflect.set(callbacks, "_parentRunId", bridge.id);
  return { ...config, callbacks };
}

const isCallbackManager = (value: unknown): value is Fields & { copy(): unknown } =>
  isObject(value) && typeof value["copy"] === "function" && Array.isArray(value["handlers"]);

const isTracer = (value: unknown): value is Fields & { updateFromRunTree(run: unknown): void } =>
  isObject(value) &&
  value["name"] === "langchain_tracer" &&
  typeof value["updateFromRunTree"] === "function";
