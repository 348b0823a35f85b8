import { useRouter } from "@tanstack/react-router";
import { createContext, use, useMemo } from "react";
import type { ReactNode } from "react";
import { useRouterLinks } from "../../components/page/router-links.ts";
import type { RowLinkProps } from "../../components/table/data-table.tsx";
import type { RunItem } from "./run-item.ts";
import { parseListSearch } from "./run-list-search.ts";
import type { ProjectAddress, RunListSearch } from "./run-list-search.ts";

type RunIds = Pick<RunItem, "id" | "traceId">;

const RunUrlContext = createContext<(run: RunIds) => string>(() => "");

/**
 * Placeholders for the ids in the URLs that are built once for all rows. A URL contains ids without escapes, so the
 * placeholders can be replaced in its text.
 */
const traceIdPlaceholder = "00000000-0000-0000-0000-000000000001";
const runIdPlaceholder = "00000000-0000-0000-0000-000000000002";

/**
 * Provides the URLs of the links in the rows of the list. They contain the state of the list, so that the user can
 * return to it from a run. The router builds only two URLs, because building a URL takes longer than rendering a row.
 */
export const RunRowLinks = ({
  address: { tenantId, projectId },
  search,
  children,
}: {
  readonly address: ProjectAddress;
  readonly search: RunListSearch;
  readonly children: ReactNode;
}) => {
  const router = useRouter();
  const toUrl = useMemo(() => {
    const build = (ids: { readonly trace: string; readonly run?: string }): string =>
      router.buildLocation({
        to: "/o/$tenantId/projects/p/$projectId",
        params: { tenantId, projectId },
        search: { ...parseListSearch({ ...search }), ...ids },
      }).publicHref;
    const traceUrl = build({ trace: traceIdPlaceholder });
    const runUrl = build({ trace: traceIdPlaceholder, run: runIdPlaceholder });
    return ({ id, traceId }: RunIds): string =>
      (id === traceId ? traceUrl : runUrl)
        .replace(traceIdPlaceholder, traceId)
        .replace(runIdPlaceholder, id);
  }, [router, tenantId, projectId, search]);
  return <RunUrlContext value={toUrl}>{children}</RunUrlContext>;
};

/** The link of a row, inside {@link RunRowLinks}. */
export const RunRowLink = ({
  run,
  children,
  ...linkProps
}: RowLinkProps & { readonly run: RunIds }) => {
  const toUrl = use(RunUrlContext);
  const onClick = useRouterLinks();
  return (
    <a href={toUrl(run)} onClick={onClick} {...linkProps}>
      {children}
    </a>
  );
};
