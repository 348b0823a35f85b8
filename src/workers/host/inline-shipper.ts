import type { Connection } from "../../model/options/connection.ts";
import { chooseProxy } from "../../model/options/proxy.ts";
import type { ShippingOptions, TapeShipper } from "../../model/records/shipping.ts";
import type { StatsReport } from "../../model/records/stats-report.ts";
import { hasNodeSockets } from "../../transport/transport.ts";
import type { CreateTransport } from "../../transport/transport.ts";

/** Sends tapes, the buffers of recorded runs, from this thread. */
export interface InlineShipper extends TapeShipper {
  /** Reports the counts of the client to the server. Rejects if there is no response, or when `signal` aborts. */
  report(report: StatsReport, signal: AbortSignal): Promise<void>;
}

/** The options of a worker pool that {@link createInlineShipper} uses. */
interface InlineShipperOptions {
  readonly shipping: ShippingOptions;
  readonly onFailure?: (tapeId: number) => void;
}

/**
 * Runs the worker's code on this thread. It is imported only if needed. A shipper for a few tapes uses the HTTP client
 * that starts faster. Any other shipper uses the one that takes less time for each request.
 */
export async function createInlineShipper(
  { shipping, onFailure }: InlineShipperOptions,
  { isForFewTapes }: { readonly isForFewTapes: boolean },
): Promise<InlineShipper> {
  const [{ Shipper }, createTransport] = await Promise.all([
    import("./shipper.ts"),
    isForFewTapes && canUseNodeTransport(shipping.connection)
      ? importNodeTransport()
      : importDispatcher(),
  ]);
  const shipper = new Shipper(shipping, { createTransport, onFailure });
  let inFlight = 0;
  return {
    async ship(task) {
      inFlight += 1;
      try {
        return await shipper.ship(task);
      } finally {
        inFlight -= 1;
        if (inFlight === 0) {
          shipper.abortInfoRequest();
        }
      }
    },
    report: (report, signal) => shipper.report(report, signal),
    close: () => shipper.close(),
  };
}

/** Whether Node's own HTTP client can be used. The transport that uses this client supports no proxies. */
const canUseNodeTransport = (connection: Connection): boolean =>
  chooseProxy(connection) === undefined && hasNodeSockets();

const importNodeTransport = async (): Promise<CreateTransport> =>
  (await import("../../transport/node-transport.ts")).createNodeTransport;

const importDispatcher = async (): Promise<CreateTransport> =>
  (await import("../../transport/dispatcher.ts")).createDispatcher;
