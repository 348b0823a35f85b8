import * as fc from "fast-check";
import type { Comparator, Filter, Literal } from "../../src/filter/ast.ts";
import { comparatorsByType, runFields } from "../../src/filter/fields.ts";
import type { Field } from "../../src/filter/fields.ts";

const nowhere = { offset: 0, length: 0 };

const literal = (value: string | number | boolean | null): Literal => {
  switch (typeof value) {
    case "string":
      return { kind: "text", text: value, ...nowhere };
    case "number":
      return { kind: "number", number: value, ...nowhere };
    case "boolean":
      return { kind: "boolean", boolean: value, ...nowhere };
    default:
      return { kind: "null", ...nowhere };
  }
};

/** Texts that occur in the corpus of the tests, parts of them, and unusual ones. */
const texts = fc.oneof(
  fc.constantFrom(
    "chat",
    "llm",
    "prod",
    "beta",
    "u1",
    "u2",
    "t-1",
    "env",
    "user",
    "score",
    "deep",
    "deep.list",
    "deep.list.b",
    "messages.content",
    "Hello World",
    "text",
    "helpful",
    "correct",
    "good",
    "note",
    "value",
    "0.7",
    "1",
    "true",
    "nul\0inside",
    "nul",
    "\ud800",
    "lone\udfff",
    "x\0y",
    "a.b",
    "replaced",
    "C:\\dir",
    "0",
    "é",
  ),
  fc.string({ unit: "binary", maxLength: 3, minLength: 1 }),
);
const patterns = fc.oneof(
  texts,
  fc
    .array(fc.constantFrom("%", "_", "chat", "o", "*", "?", "[", "]", " ", "\\", "é"), {
      minLength: 1,
      maxLength: 5,
    })
    .map((parts) => parts.join("")),
);
const numbers = fc.constantFrom(0, 1, 2, 0.2, 0.5, 0.7, 7, 12, -1, 0.25);
const times = fc.constantFrom(
  "2026-11-21T10:11:12.345680Z",
  "2026-11-21T10:11:13Z",
  "2026-11-21T10:11:32.345678+00:00",
  1_795_255_873_000,
);
const durations = fc.constantFrom(2, 8, 1.5, "2s", "1500ms", "0.1m", 20);
const objects = fc.constantFrom(
  "{}",
  '{"user":"u1"}',
  '{"env":"prod","score":0.7}',
  '{"deep":{"list":[1]}}',
  '{"deep":{"list":[{"c":null}]}}',
  '{"list":[{"b":2}]}',
  '{"b":2}',
  '{"role":"user"}',
  '{"cached":true}',
  '{"text":"hi"}',
  '{"zero":0}',
  '{"a.b":1}',
);
const ids = fc.uuid();
const paths = fc.constantFrom(
  "user",
  "env",
  "score",
  "cached",
  "deep",
  "deep.list",
  "deep.list.b",
  "deep.list.b.d",
  "usage_metadata.input_tokens",
  "messages",
  "messages.content",
  "text",
  "zero",
  "a.b",
  "new",
  "old",
  "0",
  "x-y",
);

const jsonValues = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null));

function scalars(field: Field): fc.Arbitrary<Literal> {
  const base = {
    uuid: ids,
    text: texts,
    choice: fc.constantFrom(...(field.choices ?? [""])),
    time: times,
    duration: durations,
    number: numbers,
    boolean: fc.boolean(),
    error: fc.oneof(texts, fc.constantFrom(true, false, null, "Timeout: no answer")),
    texts,
    json: texts,
    key: texts,
    value: jsonValues,
    entry: jsonValues,
  }[field.type] as fc.Arbitrary<string | number | boolean | null>;
  return (field.nullable ? fc.oneof(base, fc.constant(null)) : base).map(literal);
}

const isOrder = (comparator: Comparator): boolean =>
  ["gt", "gte", "lt", "lte"].includes(comparator);

function operandOf(field: Field, comparator: Comparator): fc.Arbitrary<Literal> {
  if (comparator === "in") {
    return fc
      .array(scalars(field), { minLength: 1, maxLength: 3 })
      .map((items) => ({ kind: "list", items, ...nowhere }));
  }
  if (comparator === "has" && (field.type === "json" || field.type === "entry")) {
    return objects.map(literal);
  }
  if (comparator === "like") {
    return patterns.filter((text) => !text.includes("\0")).map(literal);
  }
  if (comparator === "search" || comparator === "exists") {
    return texts.map(literal);
  }
  return isOrder(comparator)
    ? scalars(field).filter(({ kind }) => kind !== "null" && kind !== "boolean")
    : scalars(field);
}

const fields = [...runFields.values()];
const paired = fields.filter(({ group }) => group !== undefined);

const anyComparison = (choice: readonly Field[]): fc.Arbitrary<Filter> =>
  fc
    .constantFrom(...choice)
    .chain((field) =>
      fc.tuple(fc.constant(field), fc.constantFrom(...comparatorsByType[field.type])),
    )
    .chain(([field, comparator]) =>
      fc.tuple(operandOf(field, comparator), paths).map(([operand, path]): Filter => ({
        kind: "comparison",
        comparator,
        field: { name: field.name.replace("<path>", path), ...nowhere },
        operand,
        ...nowhere,
      })),
    );

/** Filters over the fields of runs, with related pairs of keys and values more often than by chance. */
export const anyFilter = (): fc.Arbitrary<Filter> =>
  fc.letrec<{ filter: Filter }>((tie) => ({
    filter: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      { weight: 3, arbitrary: anyComparison(fields) },
      { weight: 3, arbitrary: anyComparison(paired) },
      {
        weight: 1,
        arbitrary: texts.map((text): Filter => ({
          kind: "comparison",
          comparator: "search",
          operand: literal(text),
          ...nowhere,
        })),
      },
      {
        weight: 4,
        arbitrary: fc
          .tuple(
            fc.constantFrom("and" as const, "or" as const),
            fc.array(tie("filter"), { minLength: 1, maxLength: 4 }),
          )
          .map(([kind, parts]): Filter => ({ kind, parts, ...nowhere })),
      },
      {
        weight: 2,
        arbitrary: tie("filter").map((part): Filter => ({ kind: "not", part, ...nowhere })),
      },
    ),
  })).filter;
