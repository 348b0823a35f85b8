import type { SdkClient } from "../../api/live-report.ts";
import { ScrollX } from "../../components/page/scroll-x.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";

const counts = ["accepted", "delivered", "pending", "spooled", "rejected", "dropped"] as const;

/** What programs that send say they have counted, while they are at work. */
export const SdkClients = ({ senders }: { readonly senders: readonly SdkClient[] }) => (
  <section className="table-section">
    <h2>Senders</h2>
    <ScrollX label="Senders">
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
            <th scope="col">Told</th>
          </tr>
        </thead>
        <tbody>
          {senders.toReversed().map((sender) => (
            <tr key={sender.id}>
              <td className="nowrap">{sender.pid}</td>
              <td>{toVisibleText(sender.project)}</td>
              {counts.map((name) => (
                <td key={name} className={isLoss(name, sender[name]) ? "number bad" : "number"}>
                  {sender[name].toLocaleString("en")}
                </td>
              ))}
              <td className="nowrap">
                <Ago at={sender.atMs} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
    <p className="note">
      Records that programs with the SDK have counted since they began: a start of a run is one, its
      end another.
    </p>
  </section>
);

const isLoss = (name: (typeof counts)[number], count: number): boolean =>
  count > 0 && (name === "rejected" || name === "dropped");
