/** A request's id: the caller's own when it is harmless to log and echo, else one of ours. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../clock.ts'
import { makeId } from '../ids.ts'
import type { Random } from '../random.ts'

export function requestIds(clock: Clock, random: Random) {
  return (request: Pick<IncomingMessage, 'headers'>): string => {
    const given = request.headers['x-request-id']
    if (typeof given === 'string' && /^[A-Za-z0-9._-]{1,100}$/.test(given)) return given
    return makeId('req', clock.wallMs(), random)
  }
}
