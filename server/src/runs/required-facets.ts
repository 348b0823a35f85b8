import {
  createKeyFacet,
  createNameFacet,
  createPairFacet,
  createTagFacet,
  createTypeFacet,
} from "./facets.ts";
import { findGroup } from "../filter/checker.ts";
import type { CheckedComparison, CheckedFilter } from "../filter/checker.ts";
import { determineRole } from "../filter/compiler.ts";
import { toSingleValue, toValues } from "../filter/conditions.ts";
import { threadKeys } from "millrace/model";

/** A list of facets of which a run must have at least one. */
export type FacetAlternatives = readonly string[];

/** Returns the facets that a run must have to match a filter: at least one facet of each list. */
export function findRequiredFacets(filter: CheckedFilter): readonly FacetAlternatives[] {
  switch (filter.kind) {
    case "and": {
      // Every run with the facet of an entry also has the facet of its key, so the key's facet need not be required.
      const entries = findEntryFacets(filter.parts);
      const keyParts = new Set(entries.map(({ keyPart }) => keyPart));
      const others = filter.parts.filter((part) => !keyParts.has(part));
      return [...entries.map(({ facets }) => facets), ...others.flatMap(findRequiredFacets)];
    }
    case "or": {
      const branches = filter.parts.map((part) => findRequiredFacets(part)[0]);
      return branches.every((branch) => branch !== undefined) ? [branches.flat()] : [];
    }
    case "not":
    case "search":
      return [];
    case "comparison":
      return findComparisonFacets(filter);
  }
}

function findComparisonFacets({
  field,
  comparator,
  operand,
}: CheckedComparison): readonly FacetAlternatives[] {
  const isEquality = comparator === "eq" || comparator === "has" || comparator === "in";
  const texts = toValues(operand).map(String);
  switch (field.name) {
    case "name":
      return isEquality ? requireOneOf(texts.map(createNameFacet)) : [];
    case "run_type":
      return isEquality ? requireOneOf(texts.map(createTypeFacet)) : [];
    case "tags":
    case "tag":
      return isEquality ? requireOneOf(texts.map(createTagFacet)) : [];
    case "thread_id":
      return isEquality
        ? requireOneOf(texts.flatMap((text) => threadKeys.map((key) => createPairFacet(key, text))))
        : [];
    case "metadata_key":
      return isEquality ? requireOneOf(texts.map(toPathFacet)) : [];
    case "metadata":
      if (operand.kind === "json") {
        return Object.entries(operand.json).flatMap(([key, value]) =>
          requireOneOf([
            typeof value === "string" ? createPairFacet(key, value) : createKeyFacet(key),
          ]),
        );
      }
      return comparator === "exists" && toSingleValue(operand) !== null
        ? requireOneOf(texts.map(toPathFacet))
        : [];
    default:
      return [];
  }
}

/**
 * Requires that a run has one of these facets, the strings by which the index finds runs. Returns no requirement if one
 * of the alternatives has no facet, because the index then does not find all matching runs.
 */
const requireOneOf = (facets: readonly (string | undefined)[]): readonly FacetAlternatives[] =>
  facets.every((facet) => facet !== undefined) ? [facets] : [];

/**
 * Returns the facet of the runs whose metadata has a path. There is no facet for a path with several steps: it may lead
 * into nested objects, which are not in the index.
 */
const toPathFacet = (path: string): string | undefined =>
  path.includes(".") ? undefined : createKeyFacet(path);

/**
 * The facets of a metadata entry, one for each key that the entry may have. `keyPart` is the part of the filter that
 * names these keys.
 */
interface EntryFacets {
  readonly keyPart: CheckedFilter;
  readonly facets: FacetAlternatives;
}

/**
 * Returns the facets of metadata entries. In an `and`, a key and the value that follows it belong to the same entry.
 */
function findEntryFacets(parts: readonly CheckedFilter[]): readonly EntryFacets[] {
  let key: { readonly part: CheckedFilter; readonly names: readonly string[] } | undefined;
  return parts.flatMap((part) => {
    if (findGroup(part) !== "metadata") {
      return [];
    }
    if (determineRole(part) === "key") {
      const names = listComparedTexts(part);
      // The index contains no nested entries, whose paths have several steps.
      key =
        names.length > 0 && names.every((name) => !name.includes("."))
          ? { part, names }
          : undefined;
      return [];
    }
    const [text, ...otherTexts] = listComparedTexts(part);
    if (
      determineRole(part) !== "value" ||
      key === undefined ||
      otherTexts.length > 0 ||
      !equalsOnlyStrings(text)
    ) {
      return [];
    }
    const { part: keyPart, names } = key;
    return requireOneOf(names.map((name) => createPairFacet(name, text))).map((facets) => ({
      keyPart,
      facets,
    }));
  });
}

/** Lists the texts of which an entry must equal one; the list is empty if the entry may equal anything else. */
function listComparedTexts(part: CheckedFilter): readonly string[] {
  const isEquality =
    part.kind === "comparison" && (part.comparator === "eq" || part.comparator === "in");
  const values = isEquality ? toValues(part.operand) : [];
  const texts = values.filter((value) => typeof value === "string");
  return texts.length === values.length ? texts : [];
}

/**
 * Whether a text equals only strings. A text that looks like a number or a boolean also equals such a value, which
 * has no facet.
 */
const equalsOnlyStrings = (text: string | undefined): text is string =>
  text !== undefined && !/^-?\d/.test(text) && text !== "true" && text !== "false";
