import type { FastifyReply, FastifyRequest } from "fastify";
import { serverLimits } from "../model/options.ts";

/**
 * Disables the idle timeout of the connection until the response is sent. For handlers that work for a long time
 * without sending anything.
 */
export function disableIdleTimeout({ raw: { socket } }: FastifyRequest, reply: FastifyReply): void {
  socket.setTimeout(0);
  reply.raw.once("close", () => socket.setTimeout(serverLimits.idleSocketMs));
}
