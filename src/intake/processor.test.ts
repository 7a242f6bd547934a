// Goal: received webhooks are processed, in order per lane, also when the store or GitHub is down.
// A webhook that cannot be processed delays no other.
import { describe, expect, it } from 'vitest'
import {
  away,
  contended,
  hidden,
  limited,
  turns,
  ProcessorWorld,
} from '../../test/intake/processor-world.ts'

describe('a received webhook', () => {
  it('is processed at once, and a stop waits for it', async () => {
    const world = new ProcessorWorld()
    world.take('a')
    await world.processor.stop()
    expect(world.entry('a')).toMatchObject({ state: 'processed', reason: 'no-trigger' })
  })

  it('waits for the earlier ones of its lane, but not for other lanes', async () => {
    const world = new ProcessorWorld()
    const first = Promise.withResolvers<void>()
    world.decide = async ({ webhookId }) => {
      if (webhookId === 'a1') await first.promise
      return []
    }
    for (const id of ['a1', 'a2', 'a3']) world.take(id, { lane: 'a' })
    world.take('b1', { lane: 'b' })
    await turns()
    expect(world.acted).toEqual(['b1'])
    first.resolve()
    await world.processor.waitUntilDecided('a3', 1000)
    expect(world.acted).toEqual(['b1', 'a1', 'a2', 'a3'])
    expect(world.largestInHand).toBe(2)
  })

  it('beyond the limit of a process is left for the next sweep', async () => {
    const world = new ProcessorWorld()
    const go = Promise.withResolvers<void>()
    world.decide = async () => (await go.promise, [])
    for (let n = 0; n < 4096; n++) world.take(`in hand ${n}`)
    world.take('more')
    await turns()
    expect(world.largestInHand).toBe(4096)
    go.resolve()
    await world.processor.waitUntilDecided('in hand 4095', 1000)
    expect(world.entry('more').state).toBe('waiting')
    await world.processor.kick()
    expect(world.entry('more').state).toBe('processed')
  })

  it('can be waited for, but not forever', async () => {
    const world = new ProcessorWorld()
    world.decide = () => new Promise(() => undefined)
    world.take('a')
    const waited = world.processor.waitUntilDecided('a', 1000)
    await turns()
    expect([...world.timers.waiting.values()].map(({ ms }) => ms)).toEqual([1000])
    world.timers.fire()
    await waited
    await world.processor.waitUntilDecided('unknown', 1000)
    expect(world.timers.waiting.size).toBe(0)
  })
})

describe('a repository whose webhooks never finish', () => {
  const silent = { repo: 'acme/silent' }
  const hanging = () => {
    const world = new ProcessorWorld()
    world.decide = ({ webhookId }) =>
      webhookId.startsWith('silent') ? new Promise<never>(() => undefined) : []
    return world
  }

  it('uses only its share, and the others are processed at once', async () => {
    const world = hanging()
    for (let n = 0; n < 1100; n++) world.take(`silent ${n}`, silent)
    world.take('other')
    await turns()
    expect(world.largestInHand).toBe(1024 + 1)
    expect(world.entry('other').state).toBe('processed')
  })

  it('does not keep a sweep from the waiting webhooks of others', async () => {
    const world = hanging()
    for (let n = 0; n < 1100; n++) world.take(`silent ${n}`, silent)
    world.add('other', { tries: 1 })
    await turns()
    const swept = world.processor.kick()
    for (let n = 0; n < 20; n++) {
      await turns()
      world.timers.fire()
    }
    await swept
    expect(world.entry('other').state).toBe('processed')
    expect(world.largestInHand).toBeLessThanOrEqual(1024 + 64 + 1)
  })
})

describe('a sweep', () => {
  it('finds all that waits, also the next one of each lane', async () => {
    const world = new ProcessorWorld()
    for (const id of ['a1', 'a2', 'b1']) world.add(id, { lane: id[0] ?? '' })
    await world.processor.kick()
    expect(world.states()).toEqual(['processed', 'processed', 'processed'])
    expect(world.acted.indexOf('a1')).toBeLessThan(world.acted.indexOf('a2'))
  })

  it('gets to the others behind many that cannot be processed', async () => {
    const world = new ProcessorWorld()
    world.decide = ({ webhookId }) => {
      if (webhookId.startsWith('stuck')) throw away()
      return []
    }
    for (let n = 0; n < 300; n++) world.add(`stuck ${n}`)
    for (let n = 0; n < 10; n++) world.add(`good ${n}`)
    await world.processor.kick()
    expect(world.states().filter((state) => state === 'processed')).toHaveLength(10)
    expect(world.acted).toHaveLength(310)
  })

  it('is not stopped by a body that cannot be read', async () => {
    const world = new ProcessorWorld()
    world.add('bad')
    world.bodies.set(1, Buffer.from('not packed at all'))
    world.add('good')
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    expect(world.entry('bad')).toMatchObject({
      tries: 1,
      lastError: expect.stringContaining('internal') as string,
    })
  })

  it('is not stopped by a body that the store cannot return', async () => {
    const world = new ProcessorWorld()
    world.add('bad')
    world.add('good')
    world.bodyIsDamaged = 1
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    expect(world.putOff).toEqual(['store'])
  })

  it('finds nothing after a stop, and leaves what had not begun', async () => {
    const world = new ProcessorWorld()
    const go = Promise.withResolvers<void>()
    world.decide = async () => (await go.promise, [])
    world.take('a1', { lane: 'a' })
    world.take('a2', { lane: 'a' })
    await turns()
    const stopped = world.processor.stop()
    go.resolve()
    await stopped
    expect(world.states()).toEqual(['processed', 'waiting'])
    await world.processor.kick()
    expect(world.states()).toEqual(['processed', 'waiting'])
  })
})

describe('while the store is down', () => {
  it('a webhook stays due, and is processed when the store is back', async () => {
    const world = new ProcessorWorld()
    world.storeIsAway = true
    world.take('a')
    await world.processor.waitUntilDecided('a', 1000)
    await world.processor.kick()
    expect(world.entry('a')).toMatchObject({ state: 'waiting', tries: 0 })
    world.storeIsAway = false
    await world.processor.kick()
    expect(world.entry('a').state).toBe('processed')
  })
})

describe('while other writers hold or change rows that a webhook needs', () => {
  it('it waits longer each time, records why, is counted, and delays no other', async () => {
    const world = new ProcessorWorld()
    world.settling = async (id) => {
      if (id === 'a1') throw contended()
    }
    for (const id of ['a1', 'a2', 'b1']) world.add(id, { lane: id[0] ?? '' })
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed', 'processed'])
    const { tries, lastError, dueAt } = world.entry('a1')
    expect([tries, lastError]).toEqual([1, 'the store is contended: a run changed'])
    expect(dueAt).toBe(world.now + 1000)
    await world.processor.kick()
    expect(world.acted.filter((id) => id === 'a1')).toHaveLength(1)
    world.now += 1000
    await world.processor.kick()
    expect(world.entry('a1')).toMatchObject({ tries: 2, dueAt: world.now + 2000 })
    expect(world.putOff).toEqual(['contended', 'contended'])
  })

  it('for a day, it is given up with a reason', async () => {
    const world = new ProcessorWorld()
    world.settling = () => Promise.reject(contended())
    const { receivedAt } = world.add('a')
    for (let n = 0; world.entry('a').state === 'waiting' && n < 1000; n++) {
      await world.processor.kick()
      world.now = world.entry('a').dueAt ?? world.now
    }
    expect(world.entry('a')).toMatchObject({ state: 'failed', reason: 'store-contended' })
    expect(world.now - receivedAt).toBeGreaterThan(24 * 3_600_000)
  })

  it('a sweep continues without a slow webhook, and does not begin it twice', async () => {
    const world = new ProcessorWorld()
    const go = Promise.withResolvers<void>()
    world.settling = (id) => (id === 'slow' ? go.promise : Promise.resolve())
    world.add('slow')
    const first = world.processor.kick()
    await turns()
    world.timers.fire()
    await first
    world.add('late')
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    go.resolve()
    await world.processor.stop()
    expect(world.states()).toEqual(['processed', 'processed'])
    expect(world.acted).toEqual(['slow', 'late'])
  })
})

describe('while GitHub cannot be asked', () => {
  it('a webhook waits longer each time, up to 5 minutes, and is decided at last', async () => {
    const world = new ProcessorWorld()
    world.decide = () => {
      throw limited()
    }
    world.add('a')
    const pauses: number[] = []
    for (let n = 0; n < 11; n++) {
      await world.processor.kick()
      pauses.push((world.entry('a').dueAt ?? 0) - world.now)
      world.now = world.entry('a').dueAt ?? 0
    }
    expect(pauses.slice(0, 4)).toEqual([1000, 2000, 4000, 8000])
    expect(pauses.slice(-2)).toEqual([300_000, 300_000])
    expect(world.entry('a').lastError).toBe('GitHub could not be asked')
    world.decide = () => []
    await world.processor.kick()
    expect(world.entry('a').state).toBe('processed')
  })

  it('because of a limit, it is not asked before the time that it named', async () => {
    const world = new ProcessorWorld()
    world.decide = () => {
      throw limited(world.now + 3_600_000)
    }
    world.add('a')
    await world.processor.kick()
    expect(world.entry('a').dueAt).toBe(world.now + 3_600_000)
    await world.processor.kick()
    expect(world.acted).toEqual(['a'])
  })

  it.each([
    ['for a day', 0],
    ['for a day, whatever time GitHub named', 31 * 365 * 24 * 3_600_000],
  ])('%s, the webhook is given up with a reason', async (_what, namedMs) => {
    const world = new ProcessorWorld()
    world.decide = () => {
      throw limited(world.now + namedMs)
    }
    const { receivedAt } = world.add('a')
    for (let n = 0; world.entry('a').state === 'waiting' && n < 1000; n++) {
      await world.processor.kick()
      world.now = world.entry('a').dueAt ?? world.now
    }
    expect(world.entry('a')).toMatchObject({ state: 'failed', reason: 'github-unavailable' })
    expect(world.now - receivedAt).toBeGreaterThan(24 * 3_600_000)
    expect(world.now - receivedAt).toBeLessThan(26 * 3_600_000)
  })

  it('an old webhook is not given up before a limit of one hour is over', async () => {
    const world = new ProcessorWorld()
    world.add('a')
    world.now += 48 * 3_600_000
    const until = world.now + 3_600_000
    world.decide = () => {
      if (world.now < until) throw limited(until)
      return []
    }
    await world.processor.kick()
    expect(world.entry('a')).toMatchObject({ state: 'waiting', tries: 1, dueAt: until })
    world.now = until
    await world.processor.kick()
    expect(world.entry('a').state).toBe('processed')
  })
})

describe('while GitHub does not show us the repository', () => {
  const tries = async (world: ProcessorWorld, most: number): Promise<void> => {
    for (let n = 0; world.entry('a').state === 'waiting' && n < most; n++) {
      world.now = world.entry('a').dueAt ?? world.now
      await world.processor.kick()
    }
  }

  it('it is asked for minutes, then the webhook is given up with GitHub’s answer', async () => {
    const world = new ProcessorWorld()
    world.decide = () => {
      throw hidden()
    }
    const { receivedAt } = world.add('a')
    await tries(world, 1)
    expect(world.entry('a')).toMatchObject({
      state: 'waiting',
      lastError: expect.stringMatching(/^GitHub does not show us the repository; give /) as string,
    })
    await tries(world, 1000)
    expect(world.entry('a')).toMatchObject({ state: 'failed', reason: 'repo-not-visible' })
    expect(world.entry('a').outcomes).toMatchObject([
      { detail: 'GET /repositories/{repository_id}: GitHub answered 404' },
    ])
    expect(world.acted).toHaveLength(10)
    expect(world.now - receivedAt).toBeGreaterThan(5 * 60_000)
    expect(world.now - receivedAt).toBeLessThan(10 * 60_000)
  })

  it('a short 404 does no harm, also after GitHub was down for hours', async () => {
    const world = new ProcessorWorld()
    world.decide = () => {
      throw limited()
    }
    world.add('a')
    await tries(world, 30)
    world.decide = () => {
      throw hidden()
    }
    await tries(world, 1)
    expect(world.entry('a').state).toBe('waiting')
    world.decide = () => []
    await tries(world, 1)
    expect(world.entry('a').state).toBe('processed')
  })
})

describe('a webhook that cannot be decided without a look at GitHub', () => {
  it('is looked up and decided, whether its entry or its decision asks for the look', async () => {
    const world = new ProcessorWorld()
    world.unclear.add('tied')
    const seen: string[] = []
    world.seePull = async ({ webhookId }) => (seen.push(webhookId), null)
    for (const id of ['plain', 'tied']) world.add(id)
    world.add('alike', { needsLook: true })
    await world.processor.kick()
    expect(world.states()).toEqual(['processed', 'processed', 'processed'])
    expect(seen.toSorted()).toEqual(['alike', 'tied'])
  })

  it('waits while GitHub does not answer', async () => {
    const world = new ProcessorWorld()
    world.seePull = () => Promise.reject(limited())
    world.add('alike', { needsLook: true })
    await world.processor.kick()
    expect(world.entry('alike')).toMatchObject({ state: 'waiting', tries: 1 })
    expect(world.putOff).toEqual(['github'])
  })
})

/** Tries until the webhook `bad` has failed. */
async function giveUp(world: ProcessorWorld): Promise<void> {
  for (let n = 0; world.entry('bad').state === 'waiting' && n < 10; n++) {
    await world.processor.kick()
    world.now += 3_600_000
  }
  expect(world.entry('bad')).toMatchObject({ state: 'failed', reason: 'internal-error' })
}

describe('a webhook that fails because of a bug', () => {
  it('is tried five times, then given up, and does not hold up its lane', async () => {
    const world = new ProcessorWorld()
    world.decide = ({ webhookId }) => {
      if (webhookId === 'bad') throw new Error('a bug')
      return []
    }
    world.add('bad', { lane: 'a' })
    world.add('next', { lane: 'a' })
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    await giveUp(world)
    expect(world.acted.filter((id) => id === 'bad')).toHaveLength(5)
  })

  it('fails too if its stored body is damaged; the others go on (scenario 59)', async () => {
    const world = new ProcessorWorld()
    world.bodies.set(world.add('bad', { lane: 'a' }).arrival, Buffer.from('damaged'))
    world.add('next', { lane: 'a' })
    await world.processor.kick()
    expect(world.states()).toEqual(['waiting', 'processed'])
    await giveUp(world)
    expect(world.acted).not.toContain('bad')
  })
})
