import { expressionBuilder, sql } from "kysely";
import type { Expression } from "kysely";
import {
  aggregateToJson,
  findPosition,
  hasAllInMember,
  isInList,
  readJsonMember,
} from "../storage/dialect.ts";
import { createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";
import type { PromptQuery, PromptSort } from "./prompt.ts";

interface PromptTable {
  readonly id: string;
  readonly tenant_id: string;
  readonly handle: string;
  readonly repo_type: string;
  /** 0 or 1, as for all flags. */
  readonly is_public: number;
  readonly is_archived: number;
  readonly created_us: number;
  readonly updated_us: number;
  readonly likes: number;
  readonly downloads: number;
  readonly views: number;
  readonly commits: number;
  readonly last_hash: string | null;
  readonly search: string;
  readonly fields_json: string;
}

interface PromptCommitTable {
  readonly id: string;
  readonly tenant_id: string;
  readonly prompt_id: string;
  readonly number: number;
  readonly hash: string;
  readonly parent_id: string | null;
  readonly parent_hash: string | null;
  readonly created_us: number;
  readonly downloads: number;
  readonly views: number;
  readonly description_json: string | null;
  readonly manifest: string;
}

interface PromptTagTable {
  readonly prompt_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly id: string;
  readonly commit_id: string;
  readonly created_us: number;
  readonly updated_us: number;
}

interface PromptTables {
  readonly prompts: PromptTable;
  readonly prompt_commits: PromptCommitTable;
  readonly prompt_tags: PromptTagTable;
  readonly prompt_likes: { readonly prompt_id: string; readonly tenant_id: string };
  /** Lists only the columns that queries of prompts use. */
  readonly tenants: { readonly id: string; readonly handle: string | null };
}

const builder = createQueryBuilder<PromptTables>();

/** Selects from prompts `p` and their tenants `t`. */
const selectFromPrompts = () =>
  builder.selectFrom("prompts as p").innerJoin("tenants as t", "t.id", "p.tenant_id");

/**
 * Selects the columns that {@link parsePromptRow} parses. The column `own_likes` is 1 if the tenant with the given id
 * likes the prompt, otherwise 0.
 */
const selectPrompts = (tenantId: Expression<string> | string) =>
  selectFromPrompts()
    .select([
      "p.id",
      "p.tenant_id",
      "t.handle as owner",
      "p.handle",
      "p.repo_type",
      "p.is_public",
      "p.is_archived",
      "p.created_us",
      "p.updated_us",
      "p.fields_json",
      "p.likes",
      "p.downloads",
      "p.views",
      "p.commits",
      "p.last_hash",
    ])
    .select((eb) => [
      eb
        .selectFrom("prompt_likes as l")
        .select(eb.fn.countAll<number>().as("count"))
        .whereRef("l.prompt_id", "=", "p.id")
        .where("l.tenant_id", "=", tenantId)
        .as("own_likes"),
      eb
        .selectFrom("prompt_tags as g")
        .select((tag) => aggregateToJson(tag.ref("g.name")).as("names"))
        .whereRef("g.prompt_id", "=", "p.id")
        .as("tags_json"),
    ]);

const selectCommits = (promptId: Expression<string>) =>
  builder
    .selectFrom("prompt_commits")
    .select([
      "id",
      "prompt_id",
      "number",
      "hash",
      "parent_id",
      "parent_hash",
      "created_us",
      "downloads",
      "views",
      "description_json",
    ])
    .where("prompt_id", "=", promptId);

const selectTags = (promptId: Expression<string>) =>
  builder
    .selectFrom("prompt_tags as g")
    .innerJoin("prompt_commits as c", "c.id", "g.commit_id")
    .select([
      "g.id",
      "g.prompt_id",
      "g.name",
      "g.commit_id",
      "c.hash",
      "g.created_us",
      "g.updated_us",
    ])
    .where("g.prompt_id", "=", promptId);

const selectTaggedCommitId = ({ promptId, tag }: Parameters<{ promptId: string; tag: string }>) =>
  builder
    .selectFrom("prompt_tags")
    .select("commit_id")
    .where("prompt_id", "=", promptId)
    .where("name", "=", tag);

type CommitPageRange = {
  readonly promptId: string;
  readonly limit: number;
  readonly offset: number;
};
type Counter = "downloads" | "views";

const createCountQueries = (counter: Counter) => ({
  prompt: new Query(({ commitId }: Parameters<{ commitId: string }>) =>
    builder
      .updateTable("prompts")
      .set((eb) => ({ [counter]: sql<number>`${eb.ref(counter)} + 1` }))
      .where("id", "=", (eb) =>
        eb
          .selectFrom("prompt_commits")
          .select("prompt_id")
          .where("prompt_commits.id", "=", commitId),
      ),
  ),
  commit: new Query(({ commitId }: Parameters<{ commitId: string }>) =>
    builder
      .updateTable("prompt_commits")
      .set((eb) => ({ [counter]: sql<number>`${eb.ref(counter)} + 1` }))
      .where("id", "=", commitId),
  ),
});
const downloadCountQueries = createCountQueries("downloads");
const viewCountQueries = createCountQueries("views");

/** The queries of prompts, their commits and their tags. */
export const promptQueries = {
  find: new Query(({ ownerId, handle }: Parameters<{ ownerId: string; handle: string }>) =>
    builder
      .selectFrom("prompts")
      .select(["id", "tenant_id", "is_public"])
      .where("tenant_id", "=", ownerId)
      .where("handle", "=", handle),
  ),
  findOwned: new Query(({ id, tenantId }: Parameters<{ id: string; tenantId: string }>) =>
    builder
      .selectFrom("prompts")
      .select("id")
      .where("id", "=", id)
      .where("tenant_id", "=", tenantId),
  ),
  read: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    selectPrompts(tenantId).where("p.id", "=", id),
  ),
  findTenant: new Query(({ handle }: Parameters<{ handle: string }>) =>
    builder.selectFrom("tenants").select("id").where("handle", "=", handle),
  ),
  readHandle: new Query(({ tenantId }: Parameters<{ tenantId: string }>) =>
    builder.selectFrom("tenants").select("handle").where("id", "=", tenantId),
  ),
  insert: new Query((row: Parameters<PromptTable>) =>
    builder.insertInto("prompts").values({
      id: row.id,
      tenant_id: row.tenant_id,
      handle: row.handle,
      repo_type: row.repo_type,
      is_public: row.is_public,
      is_archived: row.is_archived,
      created_us: row.created_us,
      updated_us: row.updated_us,
      likes: row.likes,
      downloads: row.downloads,
      views: row.views,
      commits: row.commits,
      last_hash: row.last_hash,
      search: row.search,
      fields_json: row.fields_json,
    }),
  ),
  update: new Query(
    (
      row: Parameters<
        Pick<
          PromptTable,
          "id" | "is_public" | "is_archived" | "updated_us" | "search" | "fields_json"
        >
      >,
    ) =>
      builder
        .updateTable("prompts")
        .set({
          is_public: row.is_public,
          is_archived: row.is_archived,
          updated_us: row.updated_us,
          search: row.search,
          fields_json: row.fields_json,
        })
        .where("id", "=", row.id),
  ),
  deleteLikes: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("prompt_likes").where("prompt_id", "=", id),
  ),
  deleteTags: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("prompt_tags").where("prompt_id", "=", id),
  ),
  deleteCommits: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("prompt_commits").where("prompt_id", "=", id),
  ),
  delete: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("prompts").where("id", "=", id),
  ),
  like: new Query(({ id, tenantId }: Parameters<{ id: string; tenantId: string }>) =>
    builder
      .insertInto("prompt_likes")
      .values({ prompt_id: id, tenant_id: tenantId })
      .onConflict((conflict) => conflict.doNothing()),
  ),
  unlike: new Query(({ id, tenantId }: Parameters<{ id: string; tenantId: string }>) =>
    builder
      .deleteFrom("prompt_likes")
      .where("prompt_id", "=", id)
      .where("tenant_id", "=", tenantId),
  ),
  countLikes: new Query(({ id }: Parameters<{ id: string }>) =>
    builder
      .updateTable("prompts")
      .set((eb) => ({
        likes: eb
          .selectFrom("prompt_likes")
          .select(eb.fn.countAll<number>().as("count"))
          .where("prompt_id", "=", id),
      }))
      .where("id", "=", id),
  ),
  findLatestCommit: new Query(({ promptId }: Parameters<{ promptId: string }>) =>
    selectCommits(promptId).orderBy("number", "desc").limit(1),
  ),
  // Two commits are enough to find out that more than one has the prefix.
  listCommitsByPrefix: new Query(
    ({ promptId, from, to }: Parameters<{ promptId: string; from: string; to: string }>) =>
      selectCommits(promptId).where("hash", ">=", from).where("hash", "<", to).limit(2),
  ),
  findTaggedCommit: new Query((tagged: Parameters<{ promptId: string; tag: string }>) =>
    selectCommits(tagged.promptId).where("id", "=", selectTaggedCommitId(tagged)),
  ),
  listCommits: new Query(({ promptId, limit, offset }: Parameters<CommitPageRange>) =>
    selectCommits(promptId).orderBy("number", "desc").limit(limit).offset(offset),
  ),
  countCommits: new Query(({ promptId }: Parameters<{ promptId: string }>) =>
    builder
      .selectFrom("prompt_commits")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("prompt_id", "=", promptId),
  ),
  findCommit: new Query(({ id, promptId }: Parameters<{ id: string; promptId: string }>) =>
    selectCommits(promptId).where("id", "=", id),
  ),
  readManifest: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.selectFrom("prompt_commits").select(["manifest", "number"]).where("id", "=", id),
  ),
  insertCommit: new Query((row: Parameters<PromptCommitTable>) =>
    builder.insertInto("prompt_commits").values({
      id: row.id,
      tenant_id: row.tenant_id,
      prompt_id: row.prompt_id,
      number: row.number,
      hash: row.hash,
      parent_id: row.parent_id,
      parent_hash: row.parent_hash,
      created_us: row.created_us,
      downloads: row.downloads,
      views: row.views,
      description_json: row.description_json,
      manifest: row.manifest,
    }),
  ),
  updateLatest: new Query(
    ({ id, hash, now }: Parameters<{ id: string; hash: string; now: number }>) =>
      builder
        .updateTable("prompts")
        .set((eb) => ({
          commits: sql<number>`${eb.ref("commits")} + 1`,
          last_hash: hash,
          updated_us: now,
        }))
        .where("id", "=", id),
  ),
  listTags: new Query(({ promptId }: Parameters<{ promptId: string }>) =>
    selectTags(promptId).orderBy("g.name"),
  ),
  findTag: new Query(({ promptId, name }: Parameters<{ promptId: string; name: string }>) =>
    selectTags(promptId).where("g.name", "=", name),
  ),
  writeTag: new Query((row: Parameters<PromptTagTable>) =>
    builder
      .insertInto("prompt_tags")
      .values({
        prompt_id: row.prompt_id,
        name: row.name,
        tenant_id: row.tenant_id,
        id: row.id,
        commit_id: row.commit_id,
        created_us: row.created_us,
        updated_us: row.updated_us,
      })
      .onConflict((conflict) =>
        conflict
          .columns(["prompt_id", "name"])
          .doUpdateSet({ commit_id: row.commit_id, updated_us: row.updated_us }),
      ),
  ),
  deleteTag: new Query(({ promptId, name }: Parameters<{ promptId: string; name: string }>) =>
    builder.deleteFrom("prompt_tags").where("prompt_id", "=", promptId).where("name", "=", name),
  ),
  countDownload: downloadCountQueries.prompt,
  countCommitDownload: downloadCountQueries.commit,
  countView: viewCountQueries.prompt,
  countCommitView: viewCountQueries.commit,
};

/** A row of a query that selects prompts. */
export type PromptRow = RowOf<typeof promptQueries.read>;
/** A row of a query that selects commits. */
export type CommitRow = RowOf<typeof promptQueries.findLatestCommit>;
/** A row of a query that selects tags. */
export type TagRow = RowOf<typeof promptQueries.findTag>;

const sortColumns = {
  num_likes: "p.likes",
  repo_handle: "p.handle",
  num_downloads: "p.downloads",
  num_views: "p.views",
  updated_at: "p.updated_us",
} as const satisfies Readonly<Record<Exclude<PromptSort, "relevance">, string>>;

interface FilterValues {
  readonly tenantId: string;
  /** JSON array of texts. `tags` is one, too. */
  readonly repoTypes: string;
  readonly tags?: string | undefined;
  /** Normalized in the same way as the text in the column `search`. */
  readonly text?: string | undefined;
  readonly ownerId?: string | undefined;
  readonly tenantHandle?: string | undefined;
  /** Id of the calling tenant, if only its own prompts are listed. */
  readonly callerId?: string | undefined;
  readonly source?: string | undefined;
}

type FilterOptions = {
  readonly [Name in "isPublic" | "isArchived" | "hasCommits"]: PromptQuery[Name] | undefined;
};

/** Builds the condition of a list from the filters that are set. */
function buildCondition(
  values: Parameters<FilterValues>,
  { isPublic, isArchived, hasCommits }: FilterOptions,
) {
  const { tenantId, repoTypes, text, ownerId, tenantHandle, callerId, source, tags } = values;
  const eb = expressionBuilder(selectFromPrompts());
  return eb.and([
    eb.or([eb("p.tenant_id", "=", tenantId), eb("p.is_public", "=", 1)]),
    isInList(eb.ref("p.repo_type"), repoTypes),
    ...(text === undefined ? [] : [eb(findPosition(eb.ref("p.search"), text), ">", 0)]),
    ...(ownerId === undefined ? [] : [eb("p.tenant_id", "=", ownerId)]),
    ...(tenantHandle === undefined ? [] : [eb("t.handle", "=", tenantHandle)]),
    ...(callerId === undefined ? [] : [eb("p.tenant_id", "=", callerId)]),
    ...(isPublic === undefined ? [] : [eb("p.is_public", "=", Number(isPublic))]),
    ...(isArchived === undefined ? [] : [eb("p.is_archived", "=", Number(isArchived))]),
    ...(hasCommits === undefined ? [] : [eb("p.commits", hasCommits ? ">" : "=", 0)]),
    ...(source === undefined
      ? []
      : [eb(readJsonMember(eb.ref("p.fields_json"), "source"), "=", source)]),
    ...(tags === undefined ? [] : [hasAllInMember(eb.ref("p.fields_json"), "tags", tags)]),
  ]);
}

/**
 * Builds the expression by which a list is sorted. For relevance, it is the negated position of the match in the
 * searched text: an earlier match is more relevant, because the searched text begins with the handle.
 */
const buildOrder = (sort: PromptSort, text: Expression<string> | undefined) =>
  sort === "relevance"
    ? sql<number>`-${findPosition(sql.ref<string>("p.search"), text ?? "")}`
    : sql.ref<string | number>(sortColumns[sort]);

/** Lists the prompts that a tenant may see and that meet all filters that are set. */
export const promptLists = new QueryForms(
  (
    values: Parameters<FilterValues & { readonly limit: number; readonly offset: number }>,
    { sort, direction, ...options }: FilterOptions & Pick<PromptQuery, "sort" | "direction">,
  ) =>
    selectPrompts(values.tenantId)
      .where(buildCondition(values, options))
      .orderBy(buildOrder(sort, values.text), direction)
      .orderBy("p.updated_us", "desc")
      .orderBy("p.id")
      .limit(values.limit)
      .offset(values.offset),
);

/** Counts the prompts that a tenant may see and that meet all filters that are set. */
export const promptCounts = new QueryForms(
  (values: Parameters<FilterValues>, options: FilterOptions) =>
    selectFromPrompts()
      .where(buildCondition(values, options))
      .select((from) => from.fn.countAll<number>().as("count")),
);
