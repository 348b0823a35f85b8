import { useQuery } from "@tanstack/react-query";
import { serverFactsQuery } from "./queries.ts";
import { Failure, Loading } from "../../components/page/states.tsx";
import { About } from "./about.tsx";
import { Appearance } from "./appearance.tsx";
import { Keys } from "./keys.tsx";
import { Retention } from "./retention.tsx";
import { Storage } from "./storage.tsx";
import { Tenants } from "./tenants.tsx";
import "./settings.css";

/** `/o/{tenantId}/settings`: keys, tenants, storage, retention and appearance. */
export const Settings = () => {
  const { data: facts, error, refetch } = useQuery(serverFactsQuery);
  return (
    <div className="page settings">
      <title>Settings · Millrace</title>
      <h1>Settings</h1>
      {facts === undefined && error === null && <Loading what="settings" />}
      {facts === undefined && error !== null && (
        <Failure what="the settings" error={error} onRetry={refetch} />
      )}
      {facts !== undefined && (
        <>
          <Appearance />
          <Keys facts={facts} />
          <Tenants facts={facts} />
          <Retention />
          <Storage />
          <About facts={facts} />
        </>
      )}
    </div>
  );
};
