import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the server is about to close: it is not ready any more, but still answers. */
    isDraining: boolean;
    /** Announces that the server is about to close. */
    beginDrain(): void;
  }
}

/**
 * Adds `beginDrain`, with which a server announces that it is about to close. From then on it is not ready, so that a
 * load balancer sends requests elsewhere, and each response closes its connection, so that no client sends its next
 * request on a connection that is about to be closed.
 */
export function addDrain(app: FastifyInstance): void {
  app.decorate("isDraining", false);
  app.decorate("beginDrain", () => {
    app.isDraining = true;
  });
  app.addHook("onSend", async (_request, reply) => {
    if (app.isDraining) {
      void reply.header("connection", "close");
    }
  });
}
