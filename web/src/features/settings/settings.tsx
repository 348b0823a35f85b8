import { Button, SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { FormSection } from "../../components/dialog/form.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { Keys } from "./keys.tsx";
import { serverFactsQuery } from "./queries.ts";
import type { ServerFacts } from "./queries.ts";
import { Retention } from "./retention.tsx";
import { Storage } from "./storage.tsx";
import { Tenants } from "./tenants.tsx";
import "./settings.css";
import { basePath, readServerUrl } from "../../api/base-path.ts";

/** The page `/o/{tenantId}/settings`: appearance, API keys, tenants, retention and storage. */
export const Settings = () => {
  const { data: facts, error, refetch } = useQuery(serverFactsQuery);
  return (
    <div className="page settings">
      <title>Settings · Millrace</title>
      <h1>Settings</h1>
      {facts === undefined && error === null && <Loading resourceName="settings" />}
      {facts === undefined && error !== null && (
        <Failure resourceName="the settings" error={error} onRetry={refetch} />
      )}
      {facts !== undefined && (
        <>
          <Appearance />
          <Keys facts={facts} />
          <Tenants facts={facts} />
          <PricesLink />
          <AuditLink />
          <Retention />
          <Storage />
          <About facts={facts} />
        </>
      )}
    </div>
  );
};

const route = getRouteApi("/o/$tenantId/settings");

const PricesLink = () => {
  const { tenantId } = route.useParams();
  return (
    <FormSection
      title="Prices"
      description="The prices of models: public prices, your own prices, and models without a price."
    >
      <Button
        variant="default"
        renderRoot={(props) => (
          <Link to="/o/$tenantId/settings/prices" params={{ tenantId }} {...props} />
        )}
      >
        Open prices
      </Button>
    </FormSection>
  );
};

const AuditLink = () => {
  const { tenantId } = route.useParams();
  return (
    <FormSection
      title="Audit log"
      description="Shows who created, changed, deleted, shared or exported what. Only admin keys can read the log."
    >
      <Button
        variant="default"
        renderRoot={(props) => (
          <Link to="/o/$tenantId/settings/audit" params={{ tenantId }} {...props} />
        )}
      >
        Open audit log
      </Button>
    </FormSection>
  );
};

/** The server's version and access rules and, in browsers on its own machine, the folder of its data. */
const About = ({ facts: { version, dataDir, needsKey } }: { readonly facts: ServerFacts }) => (
  <FormSection title="About">
    <dl className="settings-facts">
      <dt>Version</dt>
      <dd>{version}</dd>
      <dt>Server URL</dt>
      <dd>{readServerUrl()}</dd>
      <dt>Access</dt>
      <dd>{needsKey ? "API key required" : "Open to this machine"}</dd>
      {dataDir !== undefined && (
        <>
          <dt>Data folder</dt>
          <dd>{dataDir === ":memory:" ? "In memory (deleted when the server stops)" : dataDir}</dd>
        </>
      )}
      <dt>API</dt>
      <dd>
        <a href={`${basePath}/docs`}>API reference</a>
      </dd>
    </dl>
  </FormSection>
);

const colorSchemes = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "auto", label: "System" },
];

/** Selects the color theme, which this browser stores. */
const Appearance = () => {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <FormSection title="Appearance">
      <SegmentedControl
        aria-label="Color theme"
        data={colorSchemes}
        value={colorScheme}
        onChange={(value) => {
          if (value === "light" || value === "dark" || value === "auto") {
            setColorScheme(value);
          }
        }}
      />
    </FormSection>
  );
};
