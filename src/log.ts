/** The log methods that the program uses. pino and Fastify's logger both have them. */
import type { Logger } from 'pino'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
