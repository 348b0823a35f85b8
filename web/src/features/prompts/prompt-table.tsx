import { Link } from "@tanstack/react-router";
import { DataTable } from "../../components/table/data-table.tsx";
import type { Column, RowLinkProps } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { LikeButton } from "./like-button.tsx";
import type { Prompt } from "./prompt.ts";
import type { PromptsSearch, PromptSortField } from "./prompts-search.ts";

const toColumns = (isHub: boolean, onTag: (tag: string) => void): readonly Column<Prompt>[] => [
  {
    id: "repo_handle",
    title: "Name",
    renderCell: ({ owner, repo }) => toVisibleText(isHub ? `${owner ?? "-"}/${repo}` : repo),
    width: 170,
    grow: 1,
    sort: "asc",
    isFixed: true,
    isShownWhenNarrow: true,
  },
  {
    id: "description",
    title: "Description",
    renderCell: ({ description }) => toVisibleText(description),
    width: 180,
    grow: 2,
  },
  {
    id: "tags",
    title: "Tags",
    renderCell: ({ tags }) => (
      <span className="hub-tags">
        {tags.map((tag) => (
          <button key={tag} type="button" className="tag" onClick={() => onTag(tag)}>
            {toVisibleText(tag)}
          </button>
        ))}
      </span>
    ),
    width: 130,
    grow: 1,
  },
  {
    id: "is_public",
    title: "Visibility",
    renderCell: ({ isPublic }) => (isPublic ? "Public" : "Private"),
    width: 88,
  },
  {
    id: "num_commits",
    title: "Commits",
    renderCell: ({ commitCount }) => commitCount.toLocaleString("en"),
    width: 80,
    align: "end",
  },
  {
    id: "num_downloads",
    title: "Downloads",
    renderCell: ({ downloads }) => downloads.toLocaleString("en"),
    width: 96,
    align: "end",
    sort: "desc",
  },
  {
    id: "updated_at",
    title: "Updated",
    renderCell: ({ updatedMs }) => (updatedMs === undefined ? "" : <Ago timeMs={updatedMs} />),
    width: 96,
    sort: "desc",
  },
  {
    id: "num_likes",
    title: "Likes",
    renderCell: (prompt) => <LikeButton prompt={prompt} />,
    width: 84,
    sort: "desc",
    isShownWhenNarrow: true,
  },
];

const createLinkRenderer = (isHub: boolean) =>
  function renderLink({ owner, repo }: Prompt, linkProps: RowLinkProps) {
    return isHub && owner !== undefined ? (
      <Link to="/hub/$owner/$repo" params={{ owner, repo }} {...linkProps} />
    ) : (
      <Link to="/prompts/$repo" params={{ repo }} {...linkProps} />
    );
  };

/** A table of prompts, in the order in which the server returned them. */
export const PromptTable = ({
  prompts,
  isHub,
  sort: { sort = "updated_at", order },
  onSort,
  onTag,
  hasMore,
  onMore,
}: {
  readonly prompts: readonly Prompt[];
  readonly isHub: boolean;
  readonly sort: PromptsSearch;
  readonly onSort: (sort: PromptSortField, order: "asc" | "desc") => void;
  readonly onTag: (tag: string) => void;
  readonly hasMore: boolean;
  readonly onMore: () => void;
}) => (
  <DataTable
    resourceName="prompts"
    rows={prompts}
    getRowId={({ id }) => id}
    columns={toColumns(isHub, onTag)}
    sort={{ column: sort, order: order ?? (sort === "repo_handle" ? "asc" : "desc") }}
    onSort={({ column, order: newOrder }) => onSort(column as PromptSortField, newOrder)}
    hasMore={hasMore}
    onLoadMore={onMore}
    renderLink={createLinkRenderer(isHub)}
  />
);
