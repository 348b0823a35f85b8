import { SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { FormSection } from "../../components/dialog/form.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { Keys } from "./keys.tsx";
import { serverFactsQuery } from "./queries.ts";
import type { ServerFacts } from "./queries.ts";
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

/** The server's version, and where its data lies for who is at its machine. */
const About = ({ facts: { version, dataDir, needsKey } }: { readonly facts: ServerFacts }) => (
  <FormSection title="About">
    <dl className="settings-facts">
      <dt>Version</dt>
      <dd>{version}</dd>
      <dt>Address</dt>
      <dd>{location.origin}</dd>
      <dt>Access</dt>
      <dd>{needsKey ? "with a key" : "open to this machine"}</dd>
      {dataDir !== undefined && (
        <>
          <dt>Data</dt>
          <dd>{dataDir === ":memory:" ? "gone when the server closes" : dataDir}</dd>
        </>
      )}
      <dt>Calls</dt>
      <dd>
        <a href="/docs">The calls of this server</a>
      </dd>
    </dl>
  </FormSection>
);

const schemes = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "auto", label: "System" },
];

/** The colours, kept for this browser. */
const Appearance = () => {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <FormSection title="Appearance">
      <SegmentedControl
        aria-label="Colours"
        data={schemes}
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
