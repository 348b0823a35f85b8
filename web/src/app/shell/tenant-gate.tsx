import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { tenantSegmentOf } from "../../api/access.ts";
import { ApiError } from "../../api/http.ts";
import { tenantQuery } from "../../api/tenant.ts";
import { PageLoading } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";

/**
 * Shows a page whose address names a tenant once the server has said that it is there, and whose. Where
 * it asks for no key it would answer for its first tenant in place of one that it does not know.
 */
export const TenantGate = ({ children }: { readonly children: ReactNode }) => {
  const { pathname, searchStr } = useLocation();
  const named = tenantSegmentOf(pathname, searchStr);
  const { data, error, failureReason } = useQuery({ ...tenantQuery, enabled: named !== undefined });
  if (named === undefined) {
    return children;
  }
  if (data === undefined && failureReason === null) {
    return <PageLoading />;
  }
  const isAnothers =
    (data !== undefined && data.id !== named.toLowerCase()) ||
    (error instanceof ApiError && error.status === 403);
  // A server that can't say whose page it is can't show the page either: the page says so itself.
  return isAnothers ? <NoTenant /> : children;
};

const NoTenant = () => (
  <div className="absent-view">
    <title>No such tenant · Millrace</title>
    <div className="heading">
      <h1>There is no such tenant</h1>
    </div>
    <Empty title="This server has no tenant of that id, or not for you.">
      <p>The address may have been cut off, or be one of another server.</p>
      {/* Another tenant's page starts anew: nothing of this one stays in memory. */}
      <a href="/">Go to the first page</a>
    </Empty>
  </div>
);
