import { assertChange } from "./http/assert-change.ts";
import type { Uploader, UploadFeedback } from "./uploads.ts";
import type { UploadResult, UploadSource } from "../model/resources/upload.ts";
import { parseFeedback, parseFeedbackToken } from "../model/resources/feedback.ts";
import type { Feedback, FeedbackToken } from "../model/resources/feedback.ts";
import { omitUndefined, parseList } from "../model/fields.ts";
import { assertUuid } from "../model/ids.ts";
import {
  toWireFeedback,
  toWireFields,
  toWireFilter,
  toWireTokenRequest,
  feedbackKeys,
} from "./feedback-input.ts";
import type {
  CreateFeedback,
  CreateFeedbackToken,
  FeedbackTokenRequest,
  ListFeedback,
  UpdateFeedback,
} from "./feedback-input.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { Pages, listByIds, emptyList, identifyById, listByOffset } from "./http/pages.ts";
import { oneOf, texts } from "./http/argument-checks.ts";
import { callOptionKeys } from "./http/known-arguments.ts";
import type { CallTable } from "./http/known-arguments.ts";
import { uploadSettingKeys } from "./uploads.ts";

/** Feedback on runs and projects: scores, values, comments and corrections. */
export class Feedbacks {
  readonly #call: Call;
  readonly #uploader: Uploader;

  /** @internal */
  constructor(call: Call, uploader: Uploader) {
    this.#call = call;
    this.#uploader = uploader;
  }

  /**
   * Creates feedback from a source of any size, one request per row. Rows are read, retried and reported as by
   * {@link Examples.upload}.
   */
  async upload<Row = CreateFeedback>(
    source: UploadSource<Row>,
    request: UploadFeedback<Row> = {},
  ): Promise<UploadResult> {
    return this.#uploader.uploadFeedback(source, request);
  }

  /**
   * Creates feedback. The client chooses the id before it sends the request, so a retry can't create a second
   * entry. Repeating the call with the same `id` and content has no further effect.
   *
   * @throws {@link ValidationError} if not exactly one of run and project is given, or an id is not a UUID.
   * @throws {@link ConflictError} if other feedback has this `id`.
   */
  async create(feedback: CreateFeedback): Promise<Feedback> {
    const json = toWireFeedback(feedback);
    const { signal } = feedback;
    return parseFeedback(await this.#call("createFeedback", { json, signal, repeatable: true }));
  }

  /**
   * Reads one feedback entry.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such feedback.
   */
  async read(id: string, { signal }: CallOptions = {}): Promise<Feedback> {
    assertUuid(id, "feedback id");
    return parseFeedback(await this.#call("readFeedback", { path: { id }, signal }));
  }

  /**
   * Lists feedback. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if an id is not a UUID, a time is malformed, or `limit` is not a whole
   * number of at least 1.
   */
  list(filter: ListFeedback = {}): Pages<Feedback> {
    const { runIds, projectIds, limit, signal } = filter;
    const query = toWireFilter(filter);
    if ([runIds, projectIds, filter.keys, filter.sourceTypes].some(isEmpty)) {
      // No entry can match an empty list, but an empty list in the query would not filter at all.
      return emptyList(limit);
    }
    return listByIds(projectIds, limit, (projectIdChunk, limitLeft) =>
      listByIds(runIds, limitLeft, (runIdChunk, remainingLimit) =>
        listByOffset(
          remainingLimit,
          async (page) => {
            const init = {
              query: { run: runIdChunk, session: projectIdChunk, ...query, ...page },
              signal,
            };
            return parseList(await this.#call("listFeedback", init), "feedback", parseFeedback);
          },
          identifyById,
        ),
      ),
    );
  }

  /**
   * Changes the fields that are given. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if `id` is not a UUID, or no field is given.
   * @throws {@link NotFoundError} if there is no such feedback.
   */
  async update(id: string, changes: UpdateFeedback): Promise<Feedback> {
    assertUuid(id, "feedback id");
    const json = omitUndefined(toWireFields(changes));
    assertChange(json, ["score", "value", "comment", "correction", "feedbackConfig"]);
    const { signal } = changes;
    return parseFeedback(await this.#call("updateFeedback", { path: { id }, json, signal }));
  }

  /**
   * Deletes feedback.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such feedback.
   */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    assertUuid(id, "feedback id");
    await this.#call("deleteFeedback", { path: { id }, signal });
  }

  /**
   * Creates a URL at which anyone may give feedback on a run without an API key, until the token expires.
   * Repeating the call creates another token.
   *
   * @throws {@link ValidationError} if `runId` is not a UUID, the key is empty, or the expiration is in the
   * past.
   * @throws {@link NotFoundError} if the server has no such run. The local server also accepts runs that it has
   * not received yet.
   */
  async createToken(
    runId: string,
    feedbackKey: string,
    { signal, ...options }: CreateFeedbackToken = {},
  ): Promise<FeedbackToken> {
    const json = toWireTokenRequest({ runId, feedbackKey, ...options });
    return parseFeedbackToken(await this.#call("createFeedbackToken", { json, signal }));
  }

  /**
   * Creates several tokens in one request, all of them or none, and returns them in the order of the requests.
   * See {@link Feedbacks.createToken}.
   */
  async createTokens(
    requests: readonly FeedbackTokenRequest[],
    { signal }: CallOptions = {},
  ): Promise<FeedbackToken[]> {
    const json = requests.map(toWireTokenRequest);
    if (json.length === 0) {
      return [];
    }
    const response = await this.#call("createFeedbackToken", { json, signal });
    return parseList(response, "feedback tokens", parseFeedbackToken);
  }

  /**
   * Lists the tokens of a run, including expired ones, with a single request.
   *
   * @throws {@link ValidationError} if `runId` is not a UUID.
   */
  listTokens(runId: string, { signal }: CallOptions = {}): Pages<FeedbackToken> {
    assertUuid(runId, "run id");
    const call = this.#call;
    return new Pages(async function* pages() {
      const response = await call("listFeedbackTokens", { query: { run_id: runId }, signal });
      yield parseList(response, "feedback tokens", parseFeedbackToken);
    });
  }
}

const isEmpty = (list: readonly unknown[] | undefined): boolean => list?.length === 0;

const expirationKeys = { days: true, hours: true, minutes: true } as const;
const feedbackFieldKeys = {
  score: true,
  value: true,
  comment: true,
  correction: true,
  feedbackConfig: feedbackKeys.feedbackConfig,
} as const;
const tokenOptionKeys = {
  expiration: expirationKeys,
  feedbackConfig: feedbackKeys.feedbackConfig,
} as const;

/** The option names that each method accepts. */
export const feedbackCalls: CallTable<Feedbacks> = {
  create: { args: [feedbackKeys] },
  read: { args: [null, callOptionKeys] },
  list: {
    args: [
      {
        ...callOptionKeys,
        runIds: true,
        projectIds: true,
        keys: texts,
        sourceTypes: texts,
        level: oneOf("run", "project"),
        hasScore: true,
        hasComment: true,
        comparativeExperimentId: true,
        minCreatedAt: true,
        maxCreatedAt: true,
        limit: true,
      },
    ],
    throws: true,
  },
  update: { args: [null, { ...callOptionKeys, ...feedbackFieldKeys }] },
  delete: { args: [null, callOptionKeys] },
  createToken: { args: [null, null, { ...callOptionKeys, ...tokenOptionKeys }] },
  createTokens: {
    args: [[{ ...tokenOptionKeys, runId: true, feedbackKey: true }], callOptionKeys],
  },
  listTokens: { args: [null, callOptionKeys], throws: true },
  upload: { args: [null, { ...uploadSettingKeys, toFeedback: true, idFrom: { key: true } }] },
};
