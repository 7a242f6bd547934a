/**
 * The engine on BullMQ: wake-ups and the word about lost runs reach other processes over Redis.
 *
 * What must hold: Redis is never waited for. If it is away, empty, slow or replaced, hints are lost
 * and nothing else.
 */
import type { Engine, EngineHealth, EngineListener, Heard, WakeUp } from '../../engine.ts'
import { within } from '../../scheduler.ts'
import { Announcer } from './announcer.ts'
import { LostWords } from './lost-words.ts'
import { QueueNames } from './names.ts'
import { RedisLink, type LinkOptions } from './redis-link.ts'
import { readServer, warningsOf } from './redis-server.ts'
import { Taker } from './taker.ts'
import { hostOf, lateTrouble, type Trouble } from './trouble.ts'

export interface BullmqOptions extends Omit<LinkOptions, 'names'> {
  readonly storeId: string
  /** Types whose waiting wake-ups are shown, besides those that this process listens for. */
  readonly types: readonly string[]
}

const healthMsMax = 1900

export function openBullmqEngine(options: BullmqOptions): Engine {
  const { scheduler, clock, random } = options
  const names = new QueueNames(options.storeId)
  const link = new RedisLink({ ...options, names })
  const processId = random.bytes(8).toString('hex')
  const parts = { link, names, scheduler, clock, processId }
  const announcer = new Announcer(parts)
  const lostWords = new LostWords(parts)
  const takers = new Map<string, Taker>()
  let listener: EngineListener | null = null

  const take = async (wakeUp: WakeUp): Promise<Heard> => listener?.runAvailable(wakeUp)
  const shownTypes = (): readonly string[] => [...new Set([...options.types, ...takers.keys()])]

  async function examine(): Promise<EngineHealth> {
    await link.settled()
    if (link.trouble !== null) return unusable(link.trouble, shownTypes())
    const facts = await readServer(link.client, names, shownTypes())
    const version = facts.version ?? 'of an unknown version'
    return {
      name: 'bullmq',
      ok: true,
      detail: `BullMQ on Redis ${version} at ${hostOf(options.url)}.`,
      remedy: null,
      warnings: warningsOf(facts),
      waiting: facts.waiting,
    }
  }

  const late = (): EngineHealth => unusable(link.trouble ?? lateTrouble(options.url), shownTypes())

  return {
    name: 'bullmq',
    announce: (wakeUps) => announcer.announce(wakeUps),
    announceLost: (runIds) => lostWords.send(runIds),
    listen(types, given) {
      listener = given
      for (const type of types) takers.set(type, new Taker({ ...parts, type, take }))
      lostWords.listen(types, given)
    },
    pause: (type) => takers.get(type)?.pause(),
    resume: (type) => takers.get(type)?.resume(),
    async health() {
      const examined = examine().catch(late)
      return (await within(scheduler, healthMsMax, examined, null)) ?? late()
    },
    async stop() {
      listener = null
      lostWords.stop()
      await Promise.all([...takers.values()].map((taker) => taker.stop()))
      link.stop()
    },
  }
}

function unusable(trouble: Trouble, types: readonly string[]): EngineHealth {
  return {
    name: 'bullmq',
    ok: false,
    detail:
      `${trouble.text}. Until it works again, runs are found in the database, a few seconds ` +
      'later.',
    remedy: trouble.remedy,
    warnings: [],
    waiting: Object.fromEntries(types.map((type) => [type, null])),
  }
}
