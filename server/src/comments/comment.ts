import type { Author } from "../http/author.ts";

export const commentLimits = {
  /** Characters of one comment. */
  chars: 10_000,
  /** Comments on one run or example. */
  perTarget: 1_000,
  /** Maximum number of runs of a trace, or of examples of a dataset, whose comments are counted in one response. */
  countedTargets: 10_000,
} as const;

/** What a comment is about. */
export type CommentTarget =
  | { readonly runId: string; readonly exampleId?: undefined }
  | { readonly exampleId: string; readonly runId?: undefined };

/** What a person wrote about a run or an example, as Markdown. */
export interface Comment {
  readonly id: string;
  readonly target: CommentTarget;
  readonly text: string;
  readonly author: Author;
  readonly createdMicros: number;
  /** When the text was last changed; `null` if it never was. */
  readonly editedMicros: number | null;
}

/** A comment that is to be created. */
export interface CommentDraft {
  /** Creating the same comment with the same id again changes nothing. */
  readonly id: string;
  readonly target: CommentTarget;
  readonly text: string;
  readonly author: Author;
}

/** A comment to change or delete, and the author who wants to do so. */
export interface OwnComment {
  readonly id: string;
  readonly author: Author;
}

/** Which part of a list to return: at most `limit` comments, after the first `offset` ones. */
export interface CommentPageRange {
  readonly limit: number;
  readonly offset: number;
}

/** One page of the comments on a run or an example. */
export interface CommentPage {
  readonly comments: readonly Comment[];
  /** Number of comments on the target, including those of other pages. */
  readonly total: number;
}

/** The number of comments on a run of a trace. */
export interface CommentCount {
  readonly runId: string;
  readonly count: number;
}

/** The number of comments on an example of a dataset. */
export interface ExampleCommentCount {
  readonly exampleId: string;
  readonly count: number;
}

export interface CommentReads {
  /**
   * Lists the comments on a run or an example, the oldest first.
   *
   * @throws RequestError 404: the tenant has no such run or example.
   */
  list(tenantId: string, target: CommentTarget, page: CommentPageRange): Promise<CommentPage>;
  /** Counts the comments on each run of a trace. Runs without comments are left out. */
  countInTrace(tenantId: string, traceId: string): Promise<readonly CommentCount[]>;
  /** Counts the comments on each example of a dataset. Examples without comments are left out. */
  countInDataset(tenantId: string, datasetId: string): Promise<readonly ExampleCommentCount[]>;
}

export interface CommentWrites {
  /**
   * Creates a comment.
   *
   * @throws RequestError 404: the tenant has no such run or example. 409: it has too many comments, or another comment
   * has this id.
   */
  create(tenantId: string, draft: CommentDraft): Promise<Comment>;
  /**
   * Changes the text of a comment.
   *
   * @throws RequestError 404: no such comment. 403: somebody else wrote it.
   */
  update(tenantId: string, ownComment: OwnComment, text: string): Promise<Comment>;
  /** @throws RequestError 404: no such comment. 403: somebody else wrote it. */
  delete(tenantId: string, ownComment: OwnComment): Promise<void>;
}

/**
 * Whether a comment was written by an author: with the same API key and under the same name. On a server without keys,
 * this prevents mistakes but not misuse, because anyone can choose any name.
 */
export const isOwnComment = ({ author }: Pick<Comment, "author">, { name, key }: Author): boolean =>
  author.name === name && author.key?.id === key?.id;
