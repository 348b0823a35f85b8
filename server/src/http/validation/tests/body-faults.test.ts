import { Ajv } from "ajv";
import { Type } from "typebox";
import type { TSchema } from "typebox";
import { expect, test } from "vitest";
import { Maybe, OneOf, Time } from "../../schema-parts.ts";
import { toBodyFaults } from "../body-faults.ts";

const faultsOf = (member: TSchema, value: unknown): readonly string[] => {
  const validate = new Ajv({ verbose: true }).compile(Type.Object({ a: member }));
  validate({ a: value });
  return toBodyFaults(validate.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath}: ${message}`,
  );
};

const order = Maybe(Type.Union([Type.Literal("asc"), Type.Literal("desc")]));
const ids = Type.Array(Type.String({ maxLength: 3 }), { maxItems: 2 });
const action = Type.Union([
  Type.Object({ kind: Type.Literal("queue"), queue_id: Type.String() }),
  Type.Object({ kind: Type.Literal("judge"), form: Type.Object({ key: Type.String() }) }),
]);

const cases: readonly (readonly [string, TSchema, unknown, readonly string[]])[] = [
  [
    "several types",
    Maybe(Type.Union([Type.Number(), Type.Boolean()])),
    "x",
    ["/a: must be a number, true or false, or null"],
  ],
  ["a time", Time, null, ["/a: must be a string or a number"]],
  ["constants", order, "up", ['/a: must be "asc", "desc" or null']],
  ["constants, for another type", order, 5, ['/a: must be "asc", "desc" or null']],
  ["an enumeration", OneOf(["a", "b"]), "c", ['/a: must be "a" or "b"']],
  ["an enumeration, for another type", OneOf(["a", "b"]), {}, ['/a: must be "a" or "b"']],
  ["one type", Type.Integer(), "5", ["/a: must be a whole number"]],
  ["a limit of one alternative", Maybe(Type.Integer({ minimum: 1 })), 0, ["/a: must be >= 1"]],
  [
    "nested unions",
    Maybe(Type.Union([ids, Type.String()])),
    5,
    ["/a: must be a list, a string or null"],
  ],
  [
    "an item of one alternative",
    Maybe(Type.Union([ids, Type.String()])),
    ["x", 5],
    ["/a/1: must be a string"],
  ],
  ["the kind of an object", action, { kind: "x" }, ['/a/kind: must be "queue" or "judge"']],
  [
    "an unknown member",
    Type.Object({ b: Maybe(Time), c: Maybe(Time) }, { additionalProperties: false }),
    { b: 1, bb: 1 },
    ['/a: unknown member "bb"; known: b, c'],
  ],
  [
    "many unknown members",
    Type.Object({ b: Maybe(Time) }, { additionalProperties: false }),
    Object.fromEntries(Array.from({ length: 12 }, (_, index) => ["x".repeat(60 + index), 1])),
    [
      `/a: unknown members ${Array.from({ length: 10 }, () => `"${"x".repeat(60)}"`).join(", ")} and 2 more; known: b`,
    ],
  ],
  ["an object without its kind", action, {}, ["/a: must have required property 'kind'"]],
  [
    "a member of the object's kind",
    action,
    { kind: "judge", form: {} },
    ["/a/form: must have required property 'key'"],
  ],
  ["objects, for another type", action, 5, ["/a: must be an object"]],
  [
    "lists of objects",
    Type.Array(Type.Union([Type.String(), action])),
    ["x", { kind: "queue", queue_id: 5 }],
    ["/a/1/queue_id: must be a string"],
  ],
  [
    "objects of no kind",
    Type.Union([
      Type.Object({ b: Type.Union([Type.String(), Type.Null()]) }),
      Type.Object({ b: Type.Number(), c: Type.Number() }),
    ]),
    { b: true, c: 1 },
    ["/a/b: must be a string, null or a number"],
  ],
];

test.each(cases)("the fault of %s is one sentence", (_name, schema, value, faults) => {
  expect(faultsOf(schema, value)).toEqual(faults);
});
