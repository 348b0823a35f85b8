import { Button } from "@mantine/core";
import type { ListedKey } from "./queries.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { ScrollX } from "../../components/page/scroll-x.tsx";

/** The keys, revoked ones too. */
export const KeyTable = ({
  keys,
  onRevoke,
}: {
  readonly keys: readonly ListedKey[];
  readonly onRevoke: (key: ListedKey) => void;
}) => (
  <ScrollX label="Keys">
    <table className="projects">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Ends in</th>
          <th scope="col">Made</th>
          <th scope="col">
            <span className="unseen">Revoke</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td className="cell-project">{toVisibleText(key.name) || "–"}</td>
            <td>
              <code>…{key.hint}</code>
            </td>
            <td className="nowrap">
              <Ago at={parseTimeMs(key.createdAt) ?? 0} />
            </td>
            <td className="number">
              {key.revokedAt === undefined ? (
                <Button
                  size="compact-xs"
                  variant="default"
                  aria-label={`Revoke ${toVisibleText(key.name)} …${key.hint}`}
                  onClick={() => onRevoke(key)}
                >
                  Revoke
                </Button>
              ) : (
                <span className="absent">revoked</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollX>
);
