import type { ErrorObject } from "ajv";

/** A fault in a body, in the form of an error of Ajv, so that Fastify can also report it. */
export type BodyFault = Pick<
  ErrorObject,
  "instancePath" | "schemaPath" | "keyword" | "params" | "message"
>;

interface Fault extends BodyFault {
  readonly message: string;
  /** Names of the types and values that are allowed; empty if a value of an allowed type violates another rule. */
  readonly allowed: readonly string[];
}

/**
 * Converts the errors of Ajv to one readable fault for each place in a body. For a union, Ajv reports one error for
 * each alternative, which must not be read together: a value can't be both a number and `null`.
 *
 * @param errors - the errors of one validation with the option `verbose`. The errors of a union's alternatives precede
 *   the error of the union.
 */
export function toBodyFaults(errors: readonly ErrorObject[]): BodyFault[] {
  let faults: readonly Fault[] = [];
  for (const error of errors) {
    if (error.keyword === "anyOf") {
      const isWithin = ({ schemaPath }: Fault) => schemaPath.startsWith(`${error.schemaPath}/`);
      const within = faults.filter(isWithin);
      faults = [...faults.filter((fault) => !isWithin(fault)), ...combineUnion(error, within)];
    } else {
      faults = [...faults, toFault(nameUnknownMembers(error), listAllowed(error))];
    }
  }
  return faults.map(({ instancePath, schemaPath, keyword, params, message }) => ({
    instancePath,
    schemaPath,
    keyword,
    params,
    message,
  }));
}

/** Combines the faults of a union's alternatives. */
function combineUnion(union: ErrorObject, faults: readonly Fault[]): readonly Fault[] {
  const schemas = Array.isArray(union.schema) ? (union.schema as readonly unknown[]) : [];
  const alternatives = schemas.map((schema) => findAlternative(schema, union.data));
  const knownAlternatives = alternatives.flatMap((alternative) => alternative ?? []);
  const [firstAlternative] = knownAlternatives;
  if (firstAlternative !== undefined && knownAlternatives.every(({ isOther }) => isOther)) {
    const path = `${union.instancePath}/${firstAlternative.member}`;
    const names = knownAlternatives.map(({ name }) => name);
    return [toFault({ ...union, instancePath: path }, names)];
  }
  const plausible = faults.filter(({ schemaPath }) => {
    const [index] = schemaPath.slice(union.schemaPath.length + 1).split("/");
    return alternatives[Number(index)]?.isOther !== true;
  });
  const isMismatch = ({ instancePath, allowed }: Fault) =>
    instancePath === union.instancePath && allowed.length > 0;
  // If the value has the type of an alternative, the faults within it say what to change.
  const inner = plausible.filter((fault) => !isMismatch(fault));
  return inner.length > 0
    ? mergePlaces(inner)
    : [
        toFault(
          union,
          plausible.flatMap(({ allowed }) => allowed),
        ),
      ];
}

/** An alternative of a union of objects: the member that distinguishes it, and the constant in this member as JSON. */
interface Alternative {
  readonly member: string;
  readonly name: string;
  /** Whether the value has another constant in this member. */
  readonly isOther: boolean;
}

/** Finds the member whose constant value distinguishes the alternatives of a union of objects. */
function findAlternative(schema: unknown, data: unknown): Alternative | undefined {
  const members = readMember(schema, "properties");
  if (typeof members !== "object" || members === null) {
    return undefined;
  }
  for (const [member, memberSchema] of Object.entries(members)) {
    const constant = readMember(memberSchema, "const");
    const value = readMember(data, member);
    if (constant !== undefined && value !== undefined) {
      return { member, name: JSON.stringify(constant), isOther: value !== constant };
    }
  }
  return undefined;
}

const readMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (Reflect.get(value, name) as unknown)
    : undefined;

/** Merges the faults that several alternatives of a union report for the same place. */
function mergePlaces(faults: readonly Fault[]): readonly Fault[] {
  const merged = new Map<string, Fault>();
  for (const fault of faults) {
    const isMismatch = fault.allowed.length > 0;
    const key = JSON.stringify([fault.instancePath, isMismatch || fault.message]);
    const earlier = merged.get(key);
    merged.set(
      key,
      earlier !== undefined && isMismatch
        ? toFault(earlier, [...earlier.allowed, ...fault.allowed])
        : (earlier ?? fault),
    );
  }
  return [...merged.values()];
}

function toFault(error: ErrorObject | Fault, allowed: readonly string[]): Fault {
  const { instancePath, schemaPath, keyword, params } = error;
  const names = [...new Set(allowed)];
  return {
    instancePath,
    schemaPath,
    keyword,
    params,
    message: names.length > 0 ? `must be ${joinNames(names)}` : (error.message ?? "is not valid"),
    allowed: names,
  };
}

/** How many unknown members are named, and how many characters of each name. */
const maxNamedMembers = 10;
const maxNameChars = 60;

/** Adds the names of all unknown members to an error about one of them, and the names of the known members. */
function nameUnknownMembers(error: ErrorObject): ErrorObject {
  if (error.keyword !== "additionalProperties") {
    return error;
  }
  const known = Object.keys(
    (readMember(error.parentSchema, "properties") as object | undefined) ?? {},
  );
  const unknownNames = Object.keys(error.data as object).filter((name) => !known.includes(name));
  const named = unknownNames
    .slice(0, maxNamedMembers)
    .map((name) => JSON.stringify(name.slice(0, maxNameChars)));
  const moreCount = unknownNames.length - named.length;
  const message =
    moreCount > 0
      ? `unknown members ${named.join(", ")} and ${moreCount} more`
      : `unknown member${named.length > 1 ? "s" : ""} ${new Intl.ListFormat("en").format(named)}`;
  return { ...error, message: `${message}; known: ${known.join(", ")}` };
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

/** Lists the types or values that are allowed at the place of an error; empty if the error is about another rule. */
function listAllowed({ keyword, parentSchema, params }: ErrorObject): readonly string[] {
  if (keyword !== "type" && keyword !== "const" && keyword !== "enum") {
    return [];
  }
  // A schema of constants also has a type, which Ajv checks first.
  const values = readMember(parentSchema, "enum");
  if (Array.isArray(values)) {
    return values.map((value) => JSON.stringify(value));
  }
  const constant = readMember(parentSchema, "const");
  if (constant !== undefined) {
    return [JSON.stringify(constant)];
  }
  const types: unknown = readMember(params, "type");
  return [types].flat().map((type) => typeNames[String(type)] ?? String(type));
}

/** Joins names by commas and a final "or", with a comma before it if a name contains an "or". */
function joinNames(names: readonly string[]): string {
  const start = names.slice(0, -1).join(", ");
  const end = names.at(-1) ?? "";
  const separator = names.some((name) => name === typeNames["boolean"]) ? ", or " : " or ";
  return start === "" ? end : `${start}${separator}${end}`;
}
