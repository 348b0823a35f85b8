import { Button, NativeSelect, Switch, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useLocation, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { tenantQuery, useTenantId } from "../../api/tenant.ts";
import { useSearchShortcut } from "../../components/keyboard/list-keys.ts";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { CopyText } from "../../components/code/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { NewPrompt } from "./new-prompt.tsx";
import { PromptTable } from "./prompt-table.tsx";
import { parsePromptsSearch, promptSorts } from "./prompts-search.ts";
import type { PromptsSearch } from "./prompts-search.ts";
import { createPromptsQuery } from "./queries.ts";
import "./prompts.css";

const sortLabels: { readonly [Sort in (typeof promptSorts)[number]]: string } = {
  updated_at: "Last updated",
  repo_handle: "Name",
  num_likes: "Likes",
  num_downloads: "Downloads",
};

/**
 * The page `/prompts`, which lists the tenant's prompts, and the page `/hub`, which lists the public prompts of all
 * tenants.
 */
export const Prompts = () => {
  const { pathname } = useLocation();
  const isHub = pathname.startsWith("/hub");
  const search = parsePromptsSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const tenantId = useTenantId();
  const tenant = useQuery({ ...tenantQuery, enabled: tenantId === undefined && !isHub });
  const [isFormOpen, setIsFormOpen] = useState(false);
  const pages = useInfiniteQuery({
    ...createPromptsQuery(search, isHub || tenantId === undefined ? {} : { tenantId }),
    enabled: isHub || tenantId !== undefined,
  });
  const changeSearch = (changes: Partial<Record<keyof PromptsSearch, unknown>>): void =>
    void navigate({
      to: ".",
      search: parsePromptsSearch({ ...search, ...changes }),
      replace: true,
    });
  const failedQuery = [pages, tenant].find(({ error }) => error !== null);
  const prompts = pages.data?.pages.flatMap((page) => page.prompts);
  return (
    <div className="fill">
      <title>{isHub ? "Prompt hub · Millrace" : "Prompts · Millrace"}</title>
      <div className="heading">
        <h1>{isHub ? "Prompt hub" : "Prompts"}</h1>
        <div className="tools">
          <nav className="segments" aria-label="Prompt lists">
            <Link
              to="/prompts"
              activeOptions={{ exact: true, includeSearch: true }}
              aria-current={isHub ? undefined : "page"}
            >
              My prompts
            </Link>
            <Link
              to="/hub"
              activeOptions={{ exact: true, includeSearch: true }}
              aria-current={isHub ? "page" : undefined}
            >
              Public prompts
            </Link>
          </nav>
          <Button size="xs" onClick={() => setIsFormOpen(true)}>
            New prompt
          </Button>
        </div>
      </div>
      <PromptFilters search={search} onChange={changeSearch} />
      {prompts === undefined && failedQuery === undefined && <Loading resourceName="prompts" />}
      {prompts === undefined && failedQuery?.error && (
        <Failure
          resourceName="the prompts"
          error={failedQuery.error}
          onRetry={failedQuery.refetch}
        />
      )}
      {prompts?.length === 0 && <NoPrompts isHub={isHub} search={search} />}
      {prompts !== undefined && prompts.length > 0 && (
        <PromptTable
          prompts={prompts}
          isHub={isHub}
          sort={search}
          onSort={(sort, order) => changeSearch({ sort, order })}
          onTag={(tag) => changeSearch({ tags: [...new Set([...(search.tags ?? []), tag])] })}
          hasMore={pages.hasNextPage}
          onMore={() => void (pages.isFetchingNextPage || pages.fetchNextPage())}
        />
      )}
      {isFormOpen && <NewPrompt onClose={() => setIsFormOpen(false)} />}
    </div>
  );
};

const PromptFilters = ({
  search,
  onChange,
}: {
  readonly search: PromptsSearch;
  readonly onChange: (changes: Partial<Record<keyof PromptsSearch, unknown>>) => void;
}) => (
  <search className="hub-filters">
    <TextInput
      ref={useSearchShortcut("Search prompts by name or description")}
      size="xs"
      type="search"
      aria-label="Search prompts"
      placeholder="Search names and descriptions"
      value={search.q ?? ""}
      onChange={({ currentTarget }) => onChange({ q: currentTarget.value })}
    />
    <NativeSelect
      size="xs"
      aria-label="Sort prompts by"
      value={search.sort ?? "updated_at"}
      data={promptSorts.map((value) => ({ value, label: sortLabels[value] }))}
      onChange={({ currentTarget }) => onChange({ sort: currentTarget.value, order: undefined })}
    />
    <Switch
      size="xs"
      label="Show archived prompts"
      checked={search.archived === true}
      onChange={({ currentTarget }) => onChange({ archived: currentTarget.checked })}
    />
    {search.tags?.map((tag) => (
      <Button
        key={tag}
        size="compact-xs"
        variant="default"
        aria-label={`Remove tag filter ${toVisibleText(tag)}`}
        onClick={() => onChange({ tags: search.tags?.filter((other) => other !== tag) })}
      >
        {toVisibleText(tag)} ×
      </Button>
    ))}
  </search>
);

const sdkExample = `await client.prompts.push("greeting", {
  manifest: ChatPromptTemplate.fromMessages([["human", "Greet {name}."]]),
});`;

const NoPrompts = ({
  isHub,
  search,
}: {
  readonly isHub: boolean;
  readonly search: PromptsSearch;
}) => {
  if (search.q !== undefined || search.tags !== undefined || search.archived === true) {
    return <Empty title="No matching prompts" />;
  }
  return isHub ? (
    <Empty title="No public prompts yet">
      <p>To publish a prompt, open its settings and turn on Public.</p>
    </Empty>
  ) : (
    <Empty title="No prompts yet">
      <p>Create a prompt here, or push one with the SDK.</p>
      <CopyText label="Push a prompt with the SDK" text={sdkExample} />
    </Empty>
  );
};
