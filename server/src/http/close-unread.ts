import type { IncomingMessage } from "node:http";
import { serverLimits } from "../model/options.ts";

/**
 * Has the connection of a request that was answered before its body was read end so that the client sees
 * the answer: the server ends its own side, and what still comes is read for a while and thrown away.
 * Closed at once, with bytes unread, the connection would be reset, and the answer lost.
 */
export function closeUnread(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls it once the answer was sent; its own closes the socket as a whole.
  socket.destroySoon = () => {
    let size = 0;
    const timer = setTimeout(() => socket.destroy(), serverLimits.discardMs).unref();
    socket.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > serverLimits.discardBytes) {
        socket.destroy();
      }
    });
    socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(timer));
    socket.end();
    request.resume();
  };
}
