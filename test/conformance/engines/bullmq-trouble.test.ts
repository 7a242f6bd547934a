/**
 * Goal: a Redis that cannot be used is named in plain words with a remedy, in the log and by
 * `health`; it is not asked all the time; and when it is set right, everything works by itself.
 * Method: a private Redis with a password, as a replica, without memory, and so on.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/engine.ts'
import { until } from '../../scenarios/until.ts'
import { RedisServer, type RedisSettings } from '../../redis/server.ts'
import { newStoreId, openEngine, stopEngines, type LogLine } from './bullmq-engines.ts'
import { TestListener, timed, untilBroken, untilWorking, wakeUp } from './engine-listener.ts'

const password = 'hunter2-hunter2'
let servers: RedisServer[] = []
afterEach(async () => {
  await stopEngines()
  await Promise.all(servers.map((server) => server.stop()))
  servers = []
})

async function startRedis(settings?: RedisSettings): Promise<RedisServer> {
  const server = await RedisServer.start(settings)
  servers.push(server)
  return server
}

interface Opened {
  readonly engine: Engine
  readonly lines: LogLine[]
  readonly listener: TestListener
}

function open(url: string): Opened {
  const lines: LogLine[] = []
  const engine = openEngine(url, newStoreId(), lines)
  const listener = new TestListener()
  engine.listen(['review', 'docs'], listener)
  return { engine, lines, listener }
}

/** What is said about it, after it was tried at least once. */
async function complaint({ engine, lines }: Opened) {
  await untilBroken(engine)
  const health = await engine.health()
  expect(await timed(() => engine.health())).toBeLessThan(2000)
  await until(
    async () => lines,
    (all) => all.length > 0,
  )
  expect(lines.map(({ level }) => level)).toEqual(['warn'])
  const said = [JSON.stringify(health), ...lines.map(({ text }) => text)].join('\n')
  expect(said).not.toContain('hunter2')
  expect(lines[0]?.text).toContain(health.detail.split('. ')[0])
  return health
}

describe('a password', () => {
  it.each([
    ['missing', '', 'NOAUTH'],
    ['wrong', ':not-it-at-all@', 'WRONGPASS'],
  ])('that is %s is named', async (_how, given, code) => {
    const { port } = await startRedis({ requirepass: password })
    const health = await complaint(open(`redis://${given}127.0.0.1:${port}`))
    expect(health.detail).toMatch(
      `Redis at 127.0.0.1:${port} rejects the user name or the password (${code}).`,
    )
    expect(health.remedy).toContain('redis://USER:PASSWORD@HOST:PORT')
  })

  it('that is right is used', async () => {
    const { port } = await startRedis({ requirepass: password })
    const { engine, listener } = open(`redis://:${password}@127.0.0.1:${port}/3`)
    await untilWorking(engine)
    engine.announce([wakeUp('run_1')])
    await listener.heard('run_1')
    expect(JSON.stringify(await engine.health())).not.toContain('hunter2')
  })
})

describe('an address', () => {
  it('with an unknown host is named', async () => {
    const health = await complaint(open('redis://no-such-host.invalid'))
    expect(health.detail).toMatch(/^The host name no-such-host\.invalid cannot be found/)
  })

  it('of something else is named', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const health = await complaint(open(`redis://127.0.0.1:${port}`))
    expect(health.detail).toContain(`What answers at 127.0.0.1:${port} is not Redis`)
    other.close()
  })

  it('with TLS of a Redis without it is named', async () => {
    const { port } = await startRedis()
    const health = await complaint(open(`rediss://127.0.0.1:${port}`))
    expect(health.remedy).toMatch(/redis:\/\//)
  })
})

/** How many commands this Redis has got so far. */
async function commandCount(redis: RedisServer): Promise<number> {
  const info = (await redis.run('INFO', 'stats')) as string
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1])
}

describe('a Redis that refuses writes', () => {
  const cases: readonly (readonly [string, string, (redis: RedisServer) => Promise<Mended>])[] = [
    ['as a replica', 'is a read-only replica', asReplica],
    ['without memory', 'has no memory left', withoutMemory],
  ]

  it.each(cases)('%s is named, and used when that is over', async (_how, text, disturb) => {
    const redis = await startRedis()
    const opened = open(redis.url)
    const { engine, listener, lines } = opened
    await untilWorking(engine)
    const mend = await disturb(redis)
    engine.announce([wakeUp('run_1')])
    await untilBroken(engine)
    const before = await commandCount(redis)
    // Announcements go on meanwhile.
    await until(
      async () => {
        engine.announce([wakeUp('run_2')])
        return await engine.health()
      },
      ({ detail }) => detail.includes(text),
    )
    expect((await commandCount(redis)) - before).toBeLessThan(500)
    await mend()
    await until(
      async () => {
        engine.announce([wakeUp('run_3')])
        return listener.runIds
      },
      (ids) => ids.includes('run_3'),
    )
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'info'])
  })

  type Mended = () => Promise<unknown>

  async function asReplica(redis: RedisServer): Promise<Mended> {
    const primary = await startRedis()
    await redis.run('REPLICAOF', '127.0.0.1', String(primary.port))
    return () => redis.run('REPLICAOF', 'NO', 'ONE')
  }

  async function withoutMemory(redis: RedisServer): Promise<Mended> {
    await redis.run('CONFIG', 'SET', 'maxmemory', '1')
    return () => redis.run('CONFIG', 'SET', 'maxmemory', '0')
  }

  it('only to those who take jobs is asked rarely', async () => {
    const redis = await startRedis()
    const rights = ['~*', '&*', '+@all', '-rpoplpush']
    await redis.run('ACL', 'SETUSER', 'weak', 'on', `>${password}`, ...rights)
    const { lines } = open(`redis://weak:${password}@127.0.0.1:${redis.port}`)
    await until(
      async () => lines.filter(({ level }) => level === 'warn'),
      (warnings) => warnings.length === 2,
    )
    expect(lines[0]?.text).toContain("can't run this command")
    expect(await commandCount(redis)).toBeLessThan(500)
  })

  it('or channels to this user is named', async () => {
    const redis = await startRedis()
    await redis.run('ACL', 'SETUSER', 'weak', 'on', `>${password}`, '~*', '+@all', 'resetchannels')
    const url = `redis://weak:${password}@127.0.0.1:${redis.port}`
    const health = await complaint(open(url))
    expect(health.detail).toContain('NOPERM')
    expect(health.remedy).toContain('keys and channels that begin with "holdfast:"')
  })
})

it('a Redis that removes keys is a warning and works', async () => {
  const redis = await startRedis({ 'maxmemory-policy': 'allkeys-lru' })
  const { engine } = open(redis.url)
  await untilWorking(engine)
  const { ok, warnings } = await engine.health()
  expect(ok).toBe(true)
  expect(warnings).toEqual([
    {
      detail: expect.stringContaining('(maxmemory-policy allkeys-lru)') as string,
      remedy: 'Set its maxmemory-policy to noeviction.',
    },
  ])
})
