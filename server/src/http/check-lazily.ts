import { Ajv } from "ajv";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { FastifySchema, FastifySchemaCompiler } from "fastify";

/** A check as Fastify calls it: what was wrong stands beside the answer. */
interface Check {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/**
 * Checks of bodies, each made when it is first needed: there are a hundred, and a server that starts
 * needs none. Query strings are documented by their schemas and parsed by the handlers.
 */
export function checkLazily(): FastifySchemaCompiler<FastifySchema> {
  // A value is what it is: null is no text, and "5" no number.
  const ajv = new Ajv({ coerceTypes: false, removeAdditional: false, addUsedSchema: false });
  return ({ schema, httpPart }) => {
    if (httpPart !== "body") {
      return () => true;
    }
    let made: ValidateFunction | undefined;
    const check: Check = (value) => {
      made ??= ajv.compile(schema);
      const isValid = made(value);
      check.errors = made.errors ?? null;
      return isValid;
    };
    return check;
  };
}
