import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { findTenantSegment } from "../../api/access.ts";
import { ApiError } from "../../api/http.ts";
import { tenantQuery } from "../../api/tenant.ts";
import { PageLoading } from "../../components/page/absent-view.tsx";
import { Empty } from "../../components/page/states.tsx";
import { basePath } from "../../api/base-path.ts";

/**
 * Shows a view whose URL contains a tenant id only after the server has confirmed that this tenant exists and
 * that the key may read it. A server without keys would return the data of its first tenant for an unknown id.
 */
export const TenantGate = ({ children }: { readonly children: ReactNode }) => {
  const { pathname, searchStr } = useLocation();
  const tenantSegment = findTenantSegment(pathname, searchStr);
  const { data, error, failureReason } = useQuery({
    ...tenantQuery,
    enabled: tenantSegment !== undefined,
  });
  if (tenantSegment === undefined) {
    return children;
  }
  if (data === undefined && failureReason === null) {
    return <PageLoading />;
  }
  const isOtherTenant =
    (data !== undefined && data.id !== tenantSegment.toLowerCase()) ||
    (error instanceof ApiError && error.status === 403);
  // On any other error, show the view, because its requests also fail and it shows their errors.
  return isOtherTenant ? <TenantNotFound /> : children;
};

const TenantNotFound = () => (
  <div className="absent-view">
    <title>Tenant not found · Millrace</title>
    <div className="heading">
      <h1>Tenant not found</h1>
    </div>
    <Empty title="No tenant with this ID, or your key has no access to it">
      <p>Check the ID in the URL. If it is right, use a key that has access to this tenant.</p>
      {/* A plain link reloads the page, so that no data of one tenant stays in memory for another. */}
      <a href={`${basePath}/`}>Go to the home page</a>
    </Empty>
  </div>
);
