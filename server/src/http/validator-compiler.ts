import { Ajv } from "ajv";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { FastifySchema, FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";

/** A validation function as Fastify expects it: it stores its errors in a property. */
interface ValidationFunction {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/**
 * Creates the validators of bodies. Each schema is compiled when it is first needed: there are about a hundred, and
 * the server needs none of them to start. Query strings are not validated here: handlers parse them, and their
 * schemas are only documentation.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<FastifySchema> {
  const ajv = createAjv();
  return ({ schema, httpPart }) => {
    if (httpPart !== "body") {
      return () => true;
    }
    let validate: ValidateFunction | undefined;
    const validateBody: ValidationFunction = (value) => {
      validate ??= ajv.compile(schema);
      const isValid = validate(value);
      validateBody.errors = validate.errors ?? null;
      return isValid;
    };
    return validateBody;
  };
}

/** Values are not converted: null is not a string, and "5" is not a number. */
const createAjv = (): Ajv =>
  new Ajv({ coerceTypes: false, removeAdditional: false, addUsedSchema: false });

/**
 * Creates a function that checks a part of a body whose schema depends on another part. It returns where the value
 * violates the schema and how, such as `/name must be string`; `undefined` if the value is valid.
 */
export function createSchemaCheck(): (schema: TSchema, value: unknown) => string | undefined {
  let ajv: Ajv | undefined;
  return (schema, value) => {
    ajv ??= createAjv();
    const validate = ajv.compile(schema);
    if (validate(value)) {
      return undefined;
    }
    const error = validate.errors?.[0];
    return `${error?.instancePath ?? ""} ${error?.message ?? "is not valid"}`;
  };
}
