import { Type } from "typebox";
import type { TSchema } from "typebox";

/** A member that may be left out, or be null. */
export const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** ISO 8601, or epoch milliseconds. */
export const Time = Type.Union([Type.String({ maxLength: 64 }), Type.Number()]);

/** Free-form. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());
