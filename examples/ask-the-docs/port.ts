import { once } from "node:events";
import { createServer } from "node:net";

/** The wanted port of a host, or 0, which means any free one, where it is in use. */
export const findPort = async (host: string, wanted: number): Promise<number> => {
  const probe = createServer();
  try {
    probe.listen(wanted, host);
    await once(probe, "listening");
    return wanted;
  } catch {
    // In use, or not ours to use: either way another one serves.
    return 0;
  } finally {
    probe.close();
  }
};
