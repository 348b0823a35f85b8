import type { AttributeBag } from "./attribute-bag.ts";
import { JsonText, readJson, readMembers } from "./json-text.ts";

type Members = Readonly<Record<string, unknown>>;

/** Attributes of OpenInference, one group for each tool. */
const toolPrefix = "llm.tools";
/** Attributes of earlier versions of OpenLLMetry, one group for each tool. */
const functionPrefix = "llm.request.functions";

/** The names that instrumentations give to the schema of a function's parameters. */
const parameterNames = ["parameters", "arguments", "input_schema"];

/**
 * Takes the definitions of the tools that a model can call from attributes with indexed names. A definition is in the
 * form in which the model received it, or, if only its parts are known, in the form of OpenAI's API.
 */
export const takeToolDefinitions = (bag: AttributeBag): readonly unknown[] => [
  ...bag.takeList(toolPrefix).map(({ tool, ...otherMembers }) => {
    const members = isObject(tool) ? tool : otherMembers;
    return readTool(bag, members) ?? tool ?? otherMembers;
  }),
  ...bag
    .takeList(functionPrefix)
    .map((members) => toFunctionTool(bag, members, `${functionPrefix}.N`)),
];

/**
 * Reads a tool of OpenInference: its definition, or its name beside the schema of its parameters. Returns `undefined`
 * if the definition is not JSON.
 */
function readTool(bag: AttributeBag, { json_schema: schema, ...parts }: Members): unknown {
  const path = `${toolPrefix}.N.tool`;
  if (schema === undefined) {
    return toFunctionTool(bag, parts, path);
  }
  const definition = readObject(bag, schema, `${path}.json_schema`);
  if (definition === undefined) {
    return undefined;
  }
  return parts["name"] === undefined || isDefinition(definition)
    ? definition
    : toFunctionTool(bag, { ...parts, parameters: definition }, path);
}

function toFunctionTool(bag: AttributeBag, members: Members, path: string): Members {
  const parameterName = parameterNames.find((name) => members[name] !== undefined);
  if (parameterName === undefined) {
    return { type: "function", function: members };
  }
  const { [parameterName]: value, ...otherMembers } = members;
  const parameters = readObject(bag, value, `${path}.${parameterName}`) ?? value;
  return { type: "function", function: { ...otherMembers, parameters } };
}

/** Returns an object, or the JSON text of one; `undefined` for anything else, with a warning. */
function readObject(bag: AttributeBag, value: unknown, path: string): unknown {
  if (value instanceof JsonText || isObject(value)) {
    return value;
  }
  const json = typeof value === "string" && value.trimStart().startsWith("{") && readJson(value);
  if (json instanceof JsonText) {
    return json;
  }
  bag.warn(path, "is not a JSON object", value);
  return undefined;
}

/** Whether an object defines a tool: the schema of a tool's parameters does not contain the tool's name. */
function isDefinition(value: unknown): boolean {
  const names =
    value instanceof JsonText ? readMembers(value.text) : new Map(Object.entries(value ?? {}));
  return names?.has("function") === true || names?.has("name") === true;
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
