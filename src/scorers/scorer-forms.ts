import { ValidationError } from "../model/errors.ts";
import { unknownKeysOf, unknownKeyText } from "../model/unknown-keys.ts";
import {
  contains,
  editSimilarity,
  exactMatch,
  jsonEquality,
  matchesRegex,
  numericCloseness,
  validJson,
} from "./scorers.ts";
import type { OutputScorer } from "./scorers.ts";

/** An option of a scorer, shown as a field of a form. */
export interface ScorerField {
  /** The name of the option. */
  readonly name: string;
  readonly title: string;
  readonly hint: string;
  /** Type of the option's value: `flag` is a boolean, `list` a list of texts, and `json` any JSON value. */
  readonly kind: "text" | "flag" | "number" | "list" | "json";
  readonly isRequired?: true;
}

/** The description of a scorer that needs no code. The UI creates a form from it. */
export interface ScorerForm {
  /** The name of the scorer. */
  readonly scorer: string;
  readonly title: string;
  readonly hint: string;
  /** Whether an example needs reference outputs, unless the option `expected` is set. */
  readonly needsReference: boolean;
  readonly fields: readonly ScorerField[];
}

/** A scorer with the options of its form. */
export interface ScorerConfig {
  readonly scorer: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

const keyField: ScorerField = {
  name: "key",
  title: "Feedback key",
  hint: "Defaults to the name of the scorer",
  kind: "text",
};
const pathField: ScorerField = {
  name: "path",
  title: "Path",
  hint: "Member of outputs and reference outputs, such as answer or items.0.name. Defaults to all outputs, or to the only member if they have just one",
  kind: "text",
};
const expectedField: ScorerField = {
  name: "expected",
  title: "Expected value",
  hint: "Defaults to the reference outputs",
  kind: "json",
};
const commonFields = [keyField, pathField];
const comparisonFields = [...commonFields, expectedField];

/** The form of a scorer, and the function that creates the scorer from the values of the form. */
interface ConfigurableScorer extends ScorerForm {
  readonly create: (options: Readonly<Record<string, unknown>>) => OutputScorer;
}

const scorers: readonly ConfigurableScorer[] = [
  {
    scorer: "exactMatch",
    title: "Exact match",
    hint: "Whether the output equals the expected one",
    needsReference: true,
    fields: comparisonFields,
    create: exactMatch,
  },
  {
    scorer: "contains",
    title: "Contains",
    hint: "Whether the output contains the expected text, or all of several expected texts",
    needsReference: true,
    fields: [
      ...comparisonFields,
      {
        name: "ignoreCase",
        title: "Ignore case",
        hint: "Treat upper and lower case as equal",
        kind: "flag",
      },
    ],
    create: contains,
  },
  {
    scorer: "matchesRegex",
    title: "Regular expression",
    hint: "Whether the output matches a pattern",
    needsReference: false,
    fields: [
      {
        name: "pattern",
        title: "Pattern",
        hint: String.raw`JavaScript syntax without slashes, such as ^\d+$`,
        kind: "text",
        isRequired: true,
      },
      { name: "flags", title: "Flags", hint: "Such as i, m or u", kind: "text" },
      ...commonFields,
    ],
    create: ({ pattern, flags, ...options }) =>
      matchesRegex(createPattern(pattern, flags), options),
  },
  {
    scorer: "validJson",
    title: "Valid JSON",
    hint: "Whether the output is JSON",
    needsReference: false,
    fields: commonFields,
    create: validJson,
  },
  {
    scorer: "jsonEquality",
    title: "JSON equality",
    hint: "Fraction of the members, at any depth, that equal the expected ones",
    needsReference: true,
    fields: [
      ...comparisonFields,
      {
        name: "ignore",
        title: "Ignored paths",
        hint: "Members that are not compared",
        kind: "list",
      },
    ],
    create: jsonEquality,
  },
  {
    scorer: "numericCloseness",
    title: "Numeric closeness",
    hint: "How close a number is to the expected one",
    needsReference: true,
    fields: [
      ...comparisonFields,
      {
        name: "tolerance",
        title: "Tolerance",
        hint: "Largest difference that counts as equal",
        kind: "number",
      },
      {
        name: "relativeTolerance",
        title: "Relative tolerance",
        hint: "Fraction of the expected number by which the output may differ",
        kind: "number",
      },
    ],
    create: numericCloseness,
  },
  {
    scorer: "editSimilarity",
    title: "Edit similarity",
    hint: "1 minus the edit distance divided by the length of the longer text",
    needsReference: true,
    fields: comparisonFields,
    create: editSimilarity,
  },
];

/** The scorers that need no code. */
export const scorerForms: readonly ScorerForm[] = scorers.map(({ create: _, ...form }) => form);

/**
 * Creates a scorer from its name and the values of its form.
 *
 * @throws `ValidationError` if the scorer or an option does not exist, or an option has the wrong type.
 */
export function createConfiguredScorer({ scorer, options = {} }: ScorerConfig): OutputScorer {
  const definition = scorers.find((candidate) => candidate.scorer === scorer);
  if (definition === undefined) {
    const names = scorers.map((candidate) => candidate.scorer).join(", ");
    throw new ValidationError(`There is no scorer ${JSON.stringify(scorer)}. Use one of ${names}`);
  }
  const [unknownKey] = unknownKeysOf(
    options,
    definition.fields.map(({ name }) => name),
  );
  if (unknownKey !== undefined) {
    throw new ValidationError(`${scorer}: ${unknownKeyText("option", unknownKey)}`);
  }
  for (const field of definition.fields) {
    checkField(scorer, field, options[field.name]);
  }
  return definition.create(options);
}

function checkField(scorer: string, { name, kind, isRequired }: ScorerField, value: unknown): void {
  if (value === undefined) {
    if (isRequired === true) {
      throw new ValidationError(`${scorer}: the option ${name} is missing`);
    }
    return;
  }
  const isValid = {
    text: typeof value === "string",
    flag: typeof value === "boolean",
    number: typeof value === "number" && Number.isFinite(value) && value >= 0,
    list: Array.isArray(value) && value.every((item) => typeof item === "string"),
    json: true,
  }[kind];
  if (!isValid) {
    const expected = {
      text: "a text",
      flag: "true or false",
      number: "a number of at least 0",
      list: "a list of texts",
      json: "JSON",
    }[kind];
    throw new ValidationError(`${scorer}: the option ${name} must be ${expected}`);
  }
}

function createPattern(pattern: unknown, flags: unknown): RegExp {
  try {
    return new RegExp(toOption(pattern), toOption(flags));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ValidationError(`matchesRegex: the pattern is invalid: ${reason}`, { cause });
  }
}

/** Returns the value of an option that was checked to be a text, or an empty text if the option is absent. */
const toOption = (value: unknown): string => (typeof value === "string" ? value : "");
