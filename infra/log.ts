/** Structured logs: one JSON object a line, of fields that were chosen one by one. */
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

export interface LogOptions {
  level: string;
  /** Which process speaks: `api`, `worker`. */
  service: string;
  destination?: DestinationStream;
}

export function createLog(options: LogOptions): Log {
  return pino({ level: options.level, base: { service: options.service } }, options.destination);
}
