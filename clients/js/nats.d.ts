import type { NatsConnection } from "@nats-io/nats-core";
import type { Options, Session } from "./streamer.js";

export interface NatsOptions extends Options {
  /** The address of HTTP, for values above 64 KiB and repairs. */
  url?: string;
}

/** Returns a session over NATS. Its user needs the permissions of an agent and a subscriber in deploy/nats/accounts.conf. */
export function natsSession(connection: NatsConnection, name: string, options?: NatsOptions): Session;
