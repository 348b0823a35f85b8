import type { SdkClient } from "../../api/live-report.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";

const counts = ["accepted", "delivered", "pending", "spooled", "rejected", "dropped"] as const;

/** The record counts that SDK clients reported in the last minute. */
export const SdkClients = ({ senders }: { readonly senders: readonly SdkClient[] }) => (
  <section className="table-section">
    <h2>SDK clients</h2>
    <ScrollX label="SDK clients">
      <table className="projects">
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">Project</th>
            {counts.map((name) => (
              <th key={name} scope="col" className="number titled">
                {name}
              </th>
            ))}
            <th scope="col">Last report</th>
          </tr>
        </thead>
        <tbody>
          {senders.toReversed().map((client) => (
            <tr key={client.id}>
              <td className="nowrap">{client.pid}</td>
              <td>{toVisibleText(client.project)}</td>
              {counts.map((name) => (
                <td key={name} className={isLoss(name, client[name]) ? "number bad" : "number"}>
                  {client[name].toLocaleString("en")}
                </td>
              ))}
              <td className="nowrap">
                <Ago at={client.atMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
    <p className="note">Records since process start. Each run counts twice: start and end.</p>
  </section>
);

const isLoss = (name: (typeof counts)[number], count: number): boolean =>
  count > 0 && (name === "rejected" || name === "dropped");
