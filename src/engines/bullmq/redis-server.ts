/** What Redis says about itself, and how many wake-ups wait there. */
import type { Redis } from 'ioredis'
import type { EngineHealth, EngineWarning } from '../../engine.ts'
import type { QueueNames } from './names.ts'

/** What BullMQ needs, and what it recommends. */
const oldest = [5, 0] as const
const recommended = [6, 2] as const

export interface ServerFacts {
  /** Null if Redis does not say. */
  readonly version: string | null
  readonly evictionPolicy: string | null
  readonly waiting: EngineHealth['waiting']
}

export async function readServer(
  client: Redis,
  names: QueueNames,
  types: readonly string[],
): Promise<ServerFacts> {
  const asked = client.pipeline().info('server').info('memory')
  for (const type of types) asked.llen(names.waitingList(type))
  const [server, memory, ...lengths] = (await asked.exec()) ?? []
  const waiting = types.map((type, at) => [type, countOf(lengths[at])] as const)
  return {
    version: fieldOf(server, 'redis_version'),
    evictionPolicy: fieldOf(memory, 'maxmemory_policy'),
    waiting: Object.fromEntries(waiting),
  }
}

/** Rejects if this Redis is too old for a queue. A Redis that does not say passes. */
export async function refuseOldServer(client: Redis): Promise<void> {
  const [server] = (await client.pipeline().info('server').exec()) ?? []
  const version = fieldOf(server, 'redis_version')
  if (version === null || isAtLeast(version, oldest)) return
  throw new Error(
    `version ${version} is too old; BullMQ needs ${oldest.join('.')} or newer, and recommends ` +
      recommended.join('.'),
  )
}

export function warningsOf({ version, evictionPolicy }: ServerFacts): readonly EngineWarning[] {
  const warnings: EngineWarning[] = []
  if (version !== null && !isAtLeast(version, recommended)) {
    warnings.push({
      detail: `Redis ${version} is older than BullMQ recommends.`,
      remedy: `Use Redis ${recommended.join('.')} or newer.`,
    })
  }
  if (evictionPolicy !== null && evictionPolicy !== 'noeviction') {
    warnings.push({
      detail:
        `Redis removes keys when its memory is full (maxmemory-policy ${evictionPolicy}). Then ` +
        'wake-ups get lost, and runs start a few seconds later.',
      remedy: 'Set its maxmemory-policy to noeviction.',
    })
  }
  return warnings
}

/** An error and an answer, as a pipeline gives them. */
type Reply = readonly [Error | null, unknown] | undefined

function fieldOf(reply: Reply, field: string): string | null {
  const text = reply?.[1]
  if (typeof text !== 'string') return null
  return new RegExp(`^${field}:(\\S+)`, 'm').exec(text)?.[1] ?? null
}

const countOf = (reply: Reply): number | null => {
  const count = reply?.[1]
  return typeof count === 'number' ? count : null
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}
