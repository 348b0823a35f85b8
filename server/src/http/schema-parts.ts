import { Type } from "typebox";
import type { Static, TSchema } from "typebox";

/** A member that may be absent or null. */
export const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** An ISO 8601 time, or epoch milliseconds. */
export const Time = Type.Union([Type.String({ maxLength: 64 }), Type.Number()]);

/** A JSON object with any members. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());

/** The id of a resource. */
export const Id = Type.String({ format: "uuid" });

/** A time in a response: ISO 8601, UTC, with microseconds. */
export const IsoTime = Type.String({ format: "date-time" });

// The schemas of all responses share these parts, because creating them again for each response would delay the start
// of the server.
export const Text = Type.String();
/** A whole number. */
export const Count = Type.Integer();
/** A number that need not be whole, such as a cost. */
export const Amount = Type.Number();
/** True or false. */
export const Flag = Type.Boolean();
/** Always null. */
export const Nothing = Type.Null();
/** Any JSON value. */
export const Anything = Type.Unknown();

/** A value that may be null, and is never absent. */
export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Nothing]);

export const TextOrNull = Nullable(Text);
export const CountOrNull = Nullable(Count);
export const AmountOrNull = Nullable(Amount);
export const IdOrNull = Nullable(Id);
export const TimeOrNull = Nullable(IsoTime);

/** One of several strings. */
export const OneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: "string", enum: [...values] });

/** A list that handlers return and do not change. */
export const List = <Schema extends TSchema>(items: Schema) =>
  Type.Unsafe<readonly Static<Schema>[]>(Type.Array(items));

/**
 * An object whose members have any names and one type. Unlike `Type.Record`, it has no pattern for the names, because
 * the pattern would not match a name with a line break.
 */
export const Members = <Schema extends TSchema>(schema: Schema) =>
  Type.Unsafe<Readonly<Record<string, Static<Schema>>>>({
    type: "object",
    additionalProperties: schema,
  });

/** An object with any members. */
export const AnyObject = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: "object",
  additionalProperties: true,
});

export const ObjectOrNull = Nullable(AnyObject);

/** The response to a deletion. */
export const Deleted = Type.Object({ id: Id });

/** A body in an encoding that is not JSON. */
export const Bytes = Type.String({ format: "binary" });

/** An error response. `detail` is a message or, for an invalid body, can be a list of the invalid members. */
export const errorSchema = Type.Object(
  {
    /** The operator can find the failed request in the server's log by this id. */
    request_id: Type.Optional(Type.String()),
    detail: Type.Union([
      Type.String(),
      Type.Array(
        Type.Object({
          loc: Type.Array(Type.String()),
          msg: Type.String(),
          type: Type.String(),
        }),
      ),
    ]),
  },
  { title: "Error" },
);
