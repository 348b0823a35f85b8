import { Ajv } from "ajv";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { FastifySchema, FastifySchemaCompiler } from "fastify";

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
  // Values are not converted: null is not a string, and "5" is not a number.
  const ajv = new Ajv({ coerceTypes: false, removeAdditional: false, addUsedSchema: false });
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
