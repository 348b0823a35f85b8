import { once } from "node:events";
import { createServer } from "node:net";

/** Returns the preferred port if it is free, else 0, which makes the server choose a free port. */
export const findPort = async (host: string, preferredPort: number): Promise<number> => {
  const probe = createServer();
  try {
    probe.listen(preferredPort, host);
    await once(probe, "listening");
    return preferredPort;
  } catch {
    // The port is in use, or this process may not use it. A free port is used instead.
    return 0;
  } finally {
    probe.close();
  }
};
