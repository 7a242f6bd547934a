/** What the parts of the program may say to the log. pino and Fastify's logger both fit. */
import type { Logger } from 'pino'

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
