import { Type } from "typebox";
import type { TSchema } from "typebox";
import { beforeAll, expect, test } from "vitest";
import { AnyObject, Id, List, Members, Nullable, OneOf } from "../schema-parts.ts";
import { createSerializerCompiler, loadWriterBuilder } from "../serializer-compiler.ts";

beforeAll(loadWriterBuilder);

const write = (schema: TSchema, value: unknown): string =>
  createSerializerCompiler()({ schema, method: "GET", url: "/" })(value);

const names = ["line\nbreak", "__proto__", 'quote"', "\u2028", ""];
const anyMembers = Object.fromEntries(names.map((name) => [name, 1]));

const cases: readonly (readonly [string, TSchema, unknown])[] = [
  ["null", Nullable(Type.String()), null],
  ["a text with escapes", Type.String(), 'a "text" \\ \n \ud800 \u2028'],
  ["the fraction of an integer", Type.Integer(), 1.5],

  ["either of two types", Type.Union([Type.Number(), Type.Boolean(), Type.Null()]), true],
  ["one of several strings", OneOf(["a", "b"]), "b"],
  ["members with any names", Members(Type.Integer()), anyMembers],
  ["nested members with any names", Type.Object({ a: AnyObject }), { a: { b: anyMembers } }],
  ["lists of nullable objects", List(Nullable(Type.Object({ a: Id }))), [{ a: "x" }, null]],
  ["a value without a schema", Type.Object({ a: Type.Unknown() }), { a: [{ b: null }] }],
  [
    "members after the known ones",
    Type.Object({ a: Id }, { additionalProperties: true }),
    { a: "x", b: 1 },
  ],
];

test.each(cases)("%s is written as JSON.stringify does", (_name, schema, value) => {
  expect(write(schema, value)).toBe(JSON.stringify(value));
});

test("a response that lacks a member is written without it", () => {
  const schema = Type.Object({ a: Nullable(Type.String()), b: Type.String() });
  expect(write(schema, { b: "x" })).toBe('{"b":"x"}');
});

test("a member that the schema does not name is not sent", () => {
  expect(write(Type.Object({ a: Type.String() }), { a: "x", secret: "y" })).toBe('{"a":"x"}');
});
