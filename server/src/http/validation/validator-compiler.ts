import type { Ajv, ValidateFunction } from "ajv";
import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { toBodyFaults } from "./body-faults.ts";
import type { BodyFault } from "./body-faults.ts";

/** A validation function as Fastify expects it: it stores its errors in a property. */
interface ValidationFunction {
  (value: unknown): boolean;
  errors?: BodyFault[] | null;
}

let AjvClass: typeof Ajv | undefined;

async function loadValidatorBuilder(): Promise<void> {
  AjvClass ??= (await import("ajv")).Ajv;
}

/**
 * Makes the application validate bodies against their schemas. The library is loaded with the first body: loading it
 * takes a tenth of the time in which a server starts.
 */
export function addValidators(app: FastifyInstance): void {
  app.setValidatorCompiler(createValidatorCompiler());
  app.addHook("preValidation", async ({ routeOptions }) => {
    if (AjvClass === undefined && routeOptions.schema?.body !== undefined) {
      await loadValidatorBuilder();
    }
  });
}

/**
 * Creates the validators of bodies. Each schema is compiled when it is first needed: there are about a hundred, and
 * the server needs none of them to start. Query strings are not validated here: handlers parse them, and their
 * schemas are only documentation.
 */
function createValidatorCompiler(): FastifySchemaCompiler<FastifySchema> {
  let ajv: Ajv | undefined;
  return ({ schema, httpPart }) => {
    if (httpPart !== "body") {
      return () => true;
    }
    let validate: ValidateFunction | undefined;
    const validateBody: ValidationFunction = (value) => {
      validate ??= (ajv ??= createAjv()).compile(schema);
      const isValid = validate(value);
      validateBody.errors = isValid ? null : toBodyFaults(validate.errors ?? []);
      return isValid;
    };
    return validateBody;
  };
}

/**
 * Values are not converted: null is not a string, and "5" is not a number. With `verbose`, errors contain their
 * schemas, because messages list what the schemas allow.
 */
function createAjv(): Ajv {
  if (AjvClass === undefined) {
    throw new Error("the library that validates bodies is not loaded");
  }
  return new AjvClass({
    coerceTypes: false,
    removeAdditional: false,
    addUsedSchema: false,
    verbose: true,
  });
}

/**
 * Creates a function that checks a part of a body whose schema depends on another part. It resolves to where the value
 * violates the schema and how, such as `/name must be a string`; to `undefined` if the value is valid.
 */
export function createSchemaCheck(): (
  schema: TSchema,
  value: unknown,
) => Promise<string | undefined> {
  let ajv: Ajv | undefined;
  return async (schema, value) => {
    await loadValidatorBuilder();
    ajv ??= createAjv();
    const validate = ajv.compile(schema);
    if (validate(value)) {
      return undefined;
    }
    const [fault] = toBodyFaults(validate.errors ?? []);
    return `${fault?.instancePath ?? ""} ${fault?.message ?? "is not valid"}`;
  };
}
