import type { FastifyReply, FastifyRequest } from "fastify";
import { serverLimits } from "../model/options.ts";

/** For work that takes long without a byte on the connection: it is not closed for being silent until the answer is sent. */
export function holdOpen({ raw: { socket } }: FastifyRequest, reply: FastifyReply): void {
  socket.setTimeout(0);
  reply.raw.once("close", () => socket.setTimeout(serverLimits.idleSocketMs));
}
