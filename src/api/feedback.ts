import { assertChange } from "./http/assert-change.ts";
import type { Uploader, UploadFeedback } from "./uploads.ts";
import type { UploadResult, UploadSource } from "../model/resources/upload.ts";
import { parseFeedback, parseFeedbackToken } from "../model/resources/feedback.ts";
import type { Feedback, FeedbackToken } from "../model/resources/feedback.ts";
import { definedOf, parseList } from "../model/fields.ts";
import { assertUuid } from "../model/ids.ts";
import { toWireFeedback, toWireFields, toWireFilter, toWireToken } from "./feedback-input.ts";
import type {
  CreateFeedback,
  CreateFeedbackToken,
  FeedbackTokenRequest,
  ListFeedback,
  UpdateFeedback,
} from "./feedback-input.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { Pages, pagesByIds, pagesByOffset } from "./http/pages.ts";

/** Feedback: judgements on runs and projects. */
export class Feedbacks {
  readonly #call: Call;
  readonly #uploader: Uploader;

  /** @internal */
  constructor(call: Call, uploader: Uploader) {
    this.#call = call;
    this.#uploader = uploader;
  }

  /** Gives judgements of a source of any size; as {@link Examples.upload}, one request for each. */
  async upload<Row = CreateFeedback>(
    source: UploadSource<Row>,
    request: UploadFeedback<Row> = {},
  ): Promise<UploadResult> {
    return this.#uploader.feedback(source, request);
  }

  /**
   * Records a judgement. It has its id before it is sent, so that it is recorded once, however often
   * the call is tried; repeated with the same `id` and content it changes nothing.
   *
   * @throws {@link ValidationError} neither run nor project, both, or an id that is not a UUID.
   * @throws {@link ConflictError} `id` is another judgement's.
   */
  async create(feedback: CreateFeedback): Promise<Feedback> {
    const json = toWireFeedback(feedback);
    const { signal } = feedback;
    return parseFeedback(await this.#call("createFeedback", { json, signal, repeatable: true }));
  }

  /**
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such feedback.
   */
  async read(id: string, { signal }: CallOptions = {}): Promise<Feedback> {
    assertUuid(id, "feedback id");
    return parseFeedback(await this.#call("readFeedback", { path: { id }, signal }));
  }

  /**
   * Feedback by page, as it is consumed.
   *
   * @throws {@link ValidationError} an id is not a UUID, a time is malformed, or `limit` not a whole number
   * from 1.
   */
  list(filter: ListFeedback = {}): Pages<Feedback> {
    const { runIds, projectIds, limit, signal } = filter;
    const query = toWireFilter(filter);
    if ([runIds, projectIds, filter.keys, filter.sourceTypes].some(isEmpty)) {
      // As a query it would be no filter at all.
      return pagesByOffset(limit, async () => []);
    }
    return pagesByIds(projectIds, limit, (session, some) =>
      pagesByIds(runIds, some, (run, wanted) =>
        pagesByOffset(wanted, async (page) => {
          const init = { query: { run, session, ...query, ...page }, signal };
          return parseList(await this.#call("listFeedback", init), "feedback", parseFeedback);
        }),
      ),
    );
  }

  /**
   * Changes what is given. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} `id` is not a UUID, or nothing to change.
   * @throws {@link NotFoundError} there is no such feedback.
   */
  async update(id: string, changes: UpdateFeedback): Promise<Feedback> {
    assertUuid(id, "feedback id");
    const json = definedOf(toWireFields(changes));
    assertChange(json, ["score", "value", "comment", "correction", "feedbackConfig"]);
    const { signal } = changes;
    return parseFeedback(await this.#call("updateFeedback", { path: { id }, json, signal }));
  }

  /**
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such feedback.
   */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    assertUuid(id, "feedback id");
    await this.#call("deleteFeedback", { path: { id }, signal });
  }

  /**
   * Makes an address under which anyone may give feedback on a run, without a key, until it expires.
   * Repeated, it makes another.
   *
   * @throws {@link ValidationError} `runId` is not a UUID, the key is empty, or the expiration is past.
   * @throws {@link NotFoundError} the server has no such run; the local one also accepts runs that have not arrived yet.
   */
  async createToken(
    runId: string,
    feedbackKey: string,
    { signal, ...options }: CreateFeedbackToken = {},
  ): Promise<FeedbackToken> {
    const json = toWireToken({ runId, feedbackKey, ...options });
    return parseFeedbackToken(await this.#call("createFeedbackToken", { json, signal }));
  }

  /**
   * Makes several at once: all of them or none, in the order given; as {@link Feedbacks.createToken}.
   */
  async createTokens(
    requests: readonly FeedbackTokenRequest[],
    { signal }: CallOptions = {},
  ): Promise<FeedbackToken[]> {
    const json = requests.map(toWireToken);
    if (json.length === 0) {
      return [];
    }
    const response = await this.#call("createFeedbackToken", { json, signal });
    return parseList(response, "feedback tokens", parseFeedbackToken);
  }

  /**
   * The tokens of a run, expired ones too, in one request.
   *
   * @throws {@link ValidationError} `runId` is not a UUID.
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
