import type { IncomingMessage } from "node:http";
import { serverLimits } from "../model/options.ts";

/**
 * Closes the connection of a request that was answered before its body was read, so that the client still receives
 * the response: the server closes its own side, and discards incoming data for a while. If it closed the connection
 * at once, with unread data, the connection would be reset and the response lost.
 */
export function closeUnread(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls this method after the response was sent. Node's own implementation of the method closes the socket
  // completely.
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
