import { readPersonName } from "./person-name.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Keys of a source's metadata that can contain the name of the person who gave the feedback, the most specific first.
 */
const personKeys = ["reviewer", "user_name", "user", "user_id"] as const;

/** Describes who gave feedback: the person, if the source names one, or else the type of the source, such as `api`. */
export function describeSource(source: unknown): string {
  const { type, metadata, user_name: userName } = toObject(source);
  const members = toObject(metadata);
  const person = [userName, ...personKeys.map((key) => members[key])].find(
    (name): name is string => typeof name === "string" && name.trim() !== "",
  );
  return person ?? (typeof type === "string" ? type : "");
}

/** The source of feedback that the person at this browser gives. It has their name if they have chosen one. */
export function createAppSource(): JsonObject {
  const reviewer = readPersonName();
  return { type: "app", ...(reviewer === undefined ? {} : { metadata: { reviewer } }) };
}

/** Returns the name of the person who gave the feedback in the UI; `undefined` if they had not chosen one. */
export function readReviewer(source: unknown): string | undefined {
  const { reviewer } = toObject(toObject(source)["metadata"]);
  return typeof reviewer === "string" ? reviewer : undefined;
}

const toObject = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null ? (value as JsonObject) : {};
