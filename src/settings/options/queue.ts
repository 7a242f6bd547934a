/** Settings of the queue that wakes workers on other machines. */
import { option } from './option.ts'
import { address } from './value-kind.ts'

export const queueOptions = {
  queueUrl: option({
    env: 'HOLDFAST_QUEUE_URL',
    kind: address(['redis', 'rediss'], 'redis://USER:PASSWORD@HOST:6379, with TLS rediss://'),
    unit: null,
    default: null,
    defaultText: 'none: processes look for runs in the database, twice a second',
    summary: 'Redis that wakes processes on other machines, for PostgreSQL only',
    advice:
      'With it, a run starts and a cancelled one stops within milliseconds, also in another ' +
      'process. All processes of one database need the same Redis: version 6.2 or newer, not a ' +
      'Redis Cluster. Nothing is lost if it is emptied or away: then processes look for runs in ' +
      'the database every 5 seconds. ' +
      'Several installations may share one.',
    secret: 'password',
  }),
} as const
