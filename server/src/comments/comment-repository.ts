import { exampleQueries } from "../datasets/examples/example-queries.ts";
import { createMaximumError, RequestError } from "../model/errors.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import { columnsOf, createQueryBuilder, Query } from "../storage/query.ts";
import type { Database, Parameters } from "../storage/query.ts";
import { commentLimits, isOwnComment } from "./comment.ts";
import type {
  Comment,
  CommentCount,
  CommentDraft,
  CommentPage,
  CommentPageRange,
  CommentReads,
  CommentTarget,
  CommentWrites,
  ExampleCommentCount,
  OwnComment,
} from "./comment.ts";
import type { CommentRow } from "./comment-tables.ts";

const builder = createQueryBuilder<{
  readonly comments: CommentRow;
  readonly runs: { readonly id: string; readonly trace_id: string; readonly project_id: string };
  readonly projects: { readonly id: string; readonly tenant_id: string };
}>();

interface Key {
  readonly tenantId: string;
  readonly id: string;
}

const selectOf = (column: "run_id" | "example_id", { tenantId, id }: Parameters<Key>) =>
  builder.selectFrom("comments").where(column, "=", id).where("tenant_id", "=", tenantId);

const createTargetQueries = (column: "run_id" | "example_id") => ({
  list: new Query((values: Parameters<Key & CommentPageRange>) =>
    selectOf(column, values)
      .selectAll()
      .orderBy("created_us")
      .orderBy("id")
      .limit(values.limit)
      .offset(values.offset),
  ),
  count: new Query((values: Parameters<Key>) =>
    selectOf(column, values).select(({ fn }) => fn.countAll<number | string>().as("count")),
  ),
});

const runQueries = createTargetQueries("run_id");
const exampleCommentQueries = createTargetQueries("example_id");

/** The queries of comments, and of the runs and examples that they are about. */
export const commentQueries = {
  listOfRun: runQueries.list,
  countOfRun: runQueries.count,
  listOfExample: exampleCommentQueries.list,
  countOfExample: exampleCommentQueries.count,
  countInTrace: new Query(
    ({
      tenantId,
      traceId,
      limit,
    }: Parameters<{ tenantId: string; traceId: string; limit: number }>) =>
      builder
        .selectFrom("comments")
        .select(({ fn }) => ["run_id", fn.countAll<number | string>().as("count")])
        .where("tenant_id", "=", tenantId)
        .where("trace_id", "=", traceId)
        .groupBy("run_id")
        .limit(limit),
  ),
  countInDataset: new Query(
    ({
      tenantId,
      datasetId,
      limit,
    }: Parameters<{ tenantId: string; datasetId: string; limit: number }>) =>
      builder
        .selectFrom("comments")
        .select(({ fn }) => ["example_id", fn.countAll<number | string>().as("count")])
        .where("tenant_id", "=", tenantId)
        .where("dataset_id", "=", datasetId)
        .groupBy("example_id")
        .limit(limit),
  ),
  find: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder
      .selectFrom("comments")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  findTrace: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder
      .selectFrom("runs as r")
      .innerJoin("projects as p", "p.id", "r.project_id")
      .select("r.trace_id")
      .where("r.id", "=", id)
      .where("p.tenant_id", "=", tenantId),
  ),
  insert: new Query((row: Parameters<CommentRow>) =>
    builder
      .insertInto("comments")
      .values(
        columnsOf(row, [
          "tenant_id",
          "id",
          "run_id",
          "trace_id",
          "example_id",
          "dataset_id",
          "text_json",
          "name_json",
          "key_id",
          "key_json",
          "created_us",
          "edited_us",
        ]),
      ),
  ),
  update: new Query(
    (row: Parameters<Pick<CommentRow, "tenant_id" | "id" | "text_json" | "edited_us">>) =>
      builder
        .updateTable("comments")
        .set(columnsOf(row, ["text_json", "edited_us"]))
        .where("tenant_id", "=", row.tenant_id)
        .where("id", "=", row.id),
  ),
  delete: new Query(({ tenantId, id }: Parameters<Key>) =>
    builder.deleteFrom("comments").where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
};

/** The columns by which a comment refers to its target. */
type TargetColumns = Pick<CommentRow, "run_id" | "trace_id" | "example_id" | "dataset_id">;

export class CommentRepository implements CommentReads, CommentWrites {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock = microsNow) {
    this.#db = db;
    this.#clock = clock;
  }

  async list(
    tenantId: string,
    target: CommentTarget,
    page: CommentPageRange,
  ): Promise<CommentPage> {
    await this.#findTarget(tenantId, target);
    const [id, list] =
      target.runId === undefined
        ? [target.exampleId, commentQueries.listOfExample]
        : [target.runId, commentQueries.listOfRun];
    const rows = await this.#db.all(list, { tenantId, id, ...page });
    return { comments: rows.map(parseRow), total: await this.#count(tenantId, target) };
  }

  async countInTrace(tenantId: string, traceId: string): Promise<readonly CommentCount[]> {
    const limit = commentLimits.countedTargets;
    const rows = await this.#db.all(commentQueries.countInTrace, { tenantId, traceId, limit });
    return rows.map(({ run_id: runId, count }) => ({ runId: runId ?? "", count: Number(count) }));
  }

  async countInDataset(
    tenantId: string,
    datasetId: string,
  ): Promise<readonly ExampleCommentCount[]> {
    const limit = commentLimits.countedTargets;
    const rows = await this.#db.all(commentQueries.countInDataset, { tenantId, datasetId, limit });
    return rows.map(({ example_id: exampleId, count }) => ({
      exampleId: exampleId ?? "",
      count: Number(count),
    }));
  }

  async create(tenantId: string, draft: CommentDraft): Promise<Comment> {
    const columns = await this.#findTarget(tenantId, draft.target);
    const row: CommentRow = {
      tenant_id: tenantId,
      id: draft.id,
      ...columns,
      text_json: JSON.stringify(draft.text),
      name_json: draft.author.name === null ? null : JSON.stringify(draft.author.name),
      key_id: draft.author.key?.id ?? null,
      key_json: draft.author.key === null ? null : JSON.stringify(draft.author.key.name),
      created_us: this.#clock(),
      edited_us: null,
    };
    const stored = await this.#db.first(commentQueries.find, { tenantId, id: draft.id });
    if (stored !== undefined) {
      if (!isRepetition(stored, row)) {
        throw new RequestError(
          409,
          "Another comment has this id: send the comment with a new random id",
        );
      }
      return parseRow(stored);
    }
    if ((await this.#count(tenantId, draft.target)) >= commentLimits.perTarget) {
      throw createMaximumError(
        draft.target.runId === undefined ? "example" : "run",
        `${commentLimits.perTarget} comments`,
      );
    }
    await this.#db.run(commentQueries.insert, row);
    return parseRow(row);
  }

  async update(tenantId: string, ownComment: OwnComment, text: string): Promise<Comment> {
    const comment = await this.#findOwn(tenantId, ownComment);
    if (comment.text === text) {
      return comment;
    }
    const editedMicros = this.#clock();
    await this.#db.run(commentQueries.update, {
      tenant_id: tenantId,
      id: ownComment.id,
      text_json: JSON.stringify(text),
      edited_us: editedMicros,
    });
    return { ...comment, text, editedMicros };
  }

  async delete(tenantId: string, ownComment: OwnComment): Promise<void> {
    await this.#findOwn(tenantId, ownComment);
    await this.#db.run(commentQueries.delete, { tenantId, id: ownComment.id });
  }

  async #findOwn(tenantId: string, { id, author }: OwnComment): Promise<Comment> {
    const row = await this.#db.first(commentQueries.find, { tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Comment not found");
    }
    const comment = parseRow(row);
    if (!isOwnComment(comment, author)) {
      throw new RequestError(
        403,
        "Somebody else wrote this comment: only its author can change it, with the same API key and under the same name",
      );
    }
    return comment;
  }

  async #count(tenantId: string, target: CommentTarget): Promise<number> {
    const [id, count] =
      target.runId === undefined
        ? [target.exampleId, commentQueries.countOfExample]
        : [target.runId, commentQueries.countOfRun];
    return Number((await this.#db.first(count, { tenantId, id }))?.count ?? 0);
  }

  /** @throws RequestError 404: the tenant has no such run or example. */
  async #findTarget(tenantId: string, target: CommentTarget): Promise<TargetColumns> {
    if (target.runId !== undefined) {
      const run = await this.#db.first(commentQueries.findTrace, { tenantId, id: target.runId });
      if (run === undefined) {
        throw new RequestError(404, "Run not found");
      }
      return {
        run_id: target.runId,
        trace_id: run.trace_id,
        example_id: null,
        dataset_id: null,
      };
    }
    const id = target.exampleId;
    const example = await this.#db.first(exampleQueries.findLocation, { tenantId, id });
    if (example === undefined) {
      throw new RequestError(404, "Example not found");
    }
    return { run_id: null, trace_id: null, example_id: id, dataset_id: example.dataset_id };
  }
}

const isRepetition = (stored: CommentRow, row: CommentRow): boolean =>
  stored.run_id === row.run_id &&
  stored.example_id === row.example_id &&
  stored.text_json === row.text_json &&
  stored.name_json === row.name_json &&
  stored.key_id === row.key_id;

const parseRow = (row: CommentRow): Comment => ({
  id: row.id,
  target: row.run_id === null ? { exampleId: row.example_id ?? "" } : { runId: row.run_id },
  text: String(JSON.parse(row.text_json)),
  author: {
    name: row.name_json === null ? null : String(JSON.parse(row.name_json)),
    key:
      row.key_id === null
        ? null
        : { id: row.key_id, name: String(JSON.parse(row.key_json ?? '""')) },
  },
  createdMicros: row.created_us,
  editedMicros: row.edited_us,
});
