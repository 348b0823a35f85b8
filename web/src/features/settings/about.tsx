import type { ServerFacts } from "./queries.ts";
import { FormSection } from "../../components/dialog/form.tsx";

/** The server's version, and where its data lies for who is at its machine. */
export const About = ({
  facts: { version, dataDir, needsKey },
}: {
  readonly facts: ServerFacts;
}) => (
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
