import { requireItems, requireText, toNumber, toRecord, toText } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/** The resource that a comment is about. */
export interface CommentTarget {
  readonly kind: "run" | "example";
  readonly id: string;
}

/** A text in Markdown that a person has written about a run or an example. */
export interface Comment {
  readonly id: string;
  readonly text: string;
  /** The name that the author has chosen; empty if the author is known by an API key only. */
  readonly author: string;
  /** The name of the author's API key; `undefined` on a server without keys. */
  readonly keyName: string | undefined;
  /** Whether the user of this browser wrote the comment. */
  readonly isOwn: boolean;
  readonly createdMs: number;
  readonly editedMs: number | undefined;
}

export interface CommentPage {
  readonly comments: readonly Comment[];
  /** Number of comments on the target, including those of other pages. */
  readonly total: number;
  /** The name of this browser's API key. A person with such a key need not enter another name. */
  readonly keyName: string | undefined;
}

/** The maximum number of characters of a comment. The server applies the same limit. */
export const maxCommentChars = 10_000;

/** @throws TypeError `value` is not a page of comments. */
export function parseCommentPage(value: unknown): CommentPage {
  const page = toRecord(value);
  return {
    comments: requireItems(page["comments"], "comments").map(parseComment),
    total: toNumber(page["total"]) ?? 0,
    keyName: toText(page["key_name"]),
  };
}

function parseComment(value: unknown): Comment {
  const comment = toRecord(value);
  return {
    id: requireText(comment, "id"),
    text: requireText(comment, "text"),
    author: toText(comment["author"]) ?? "",
    keyName: toText(comment["key_name"]),
    isOwn: comment["is_own"] === true,
    createdMs: parseTimeMs(comment["created_at"]) ?? 0,
    editedMs: parseTimeMs(comment["edited_at"]),
  };
}

/** Parses the numbers of comments, by the id of their run. @throws TypeError `value` has no list of runs. */
export const parseCommentCounts = (value: unknown): ReadonlyMap<string, number> =>
  parseCounts(value, "runs", "run_id");

/** Parses the numbers of comments, by the id of their example. @throws TypeError `value` has no list of examples. */
export const parseExampleCounts = (value: unknown): ReadonlyMap<string, number> =>
  parseCounts(value, "examples", "example_id");

const parseCounts = (value: unknown, listName: string, idName: string) =>
  new Map(
    requireItems(toRecord(value)[listName], listName)
      .map(toRecord)
      .map((item) => [requireText(item, idName), toNumber(item["count"]) ?? 0]),
  );

/** Returns an error message for a text that can't be a comment, else `undefined`. */
export function validateComment(text: string): string | undefined {
  if (text.trim() === "") {
    return "Enter a comment.";
  }
  // `length` counts some characters, such as emoji, twice.
  const chars = text.length > maxCommentChars ? Array.from(text).length : text.length;
  return chars > maxCommentChars
    ? `Use at most ${maxCommentChars.toLocaleString("en")} characters. This comment has ${chars.toLocaleString("en")}.`
    : undefined;
}

/** Returns the name of a comment's author: the chosen name, or else the name of the API key. */
export const getAuthorName = ({ author, keyName }: Pick<Comment, "author" | "keyName">): string =>
  author === "" ? (keyName ?? "") : author;
