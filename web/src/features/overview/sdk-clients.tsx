import type { SdkClient } from "../../api/live-report.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";

const countNames = ["accepted", "delivered", "pending", "spooled", "rejected", "dropped"] as const;

/** A table of the SDK clients that sent a report in the last minute, with the numbers of records that they reported. */
export const SdkClients = ({ clients }: { readonly clients: readonly SdkClient[] }) => (
  <section className="table-section">
    <h2>SDK clients</h2>
    <ScrollX label="SDK clients">
      <table className="projects">
        <thead>
          <tr>
            <th scope="col">Process ID</th>
            <th scope="col">Project</th>
            {countNames.map((name) => (
              <th key={name} scope="col" className="number titled">
                {name}
              </th>
            ))}
            <th scope="col">Last report</th>
          </tr>
        </thead>
        <tbody>
          {clients.toReversed().map((client) => (
            <tr key={client.id}>
              <td className="nowrap">{client.pid}</td>
              <td>{toVisibleText(client.project)}</td>
              {countNames.map((name) => (
                <td key={name} className={isLoss(name, client[name]) ? "number bad" : "number"}>
                  {client[name].toLocaleString("en")}
                </td>
              ))}
              <td className="nowrap">
                <Ago timeMs={client.atMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
    <p className="note">
      Records since the process started. Each run has two records: its start and its end.
    </p>
  </section>
);

const isLoss = (name: (typeof countNames)[number], count: number): boolean =>
  count > 0 && (name === "rejected" || name === "dropped");
