import { Ajv } from "ajv";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { FastifySchema, FastifySchemaCompiler } from "fastify";

/** A validation function as Fastify expects it, which leaves its errors in a property. */
interface Check {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/**
 * Validates bodies. Each schema is compiled when it is first needed: there are about a hundred, and the server
 * needs none of them to start. Query strings are documented by their schemas and parsed by the handlers.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<FastifySchema> {
  // Values are not converted: null is not a string, and "5" is not a number.
  const ajv = new Ajv({ coerceTypes: false, removeAdditional: false, addUsedSchema: false });
  return ({ schema, httpPart }) => {
    if (httpPart !== "body") {
      return () => true;
    }
    let validate: ValidateFunction | undefined;
    const check: Check = (value) => {
      validate ??= ajv.compile(schema);
      const isValid = validate(value);
      check.errors = validate.errors ?? null;
      return isValid;
    };
    return check;
  };
}
