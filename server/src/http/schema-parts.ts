import { Type } from "typebox";
import type { TSchema } from "typebox";

/** A member that may be absent or null. */
export const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** An ISO 8601 time, or epoch milliseconds. */
export const Time = Type.Union([Type.String({ maxLength: 64 }), Type.Number()]);

/** A JSON object with any members. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());
