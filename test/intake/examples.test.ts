/**
 * Goal: whatever GitHub sends is taken and decided, with a reason where nothing comes of it.
 * Method: every published example of every event goes, signed, through the door of a real server,
 * first to the types of a server without a configuration, then to one that listens to everything;
 * then with parts of the payloads taken out or put in another's place.
 */
import fc from 'fast-check'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InboxEntry } from '../../src/domain/inbox.ts'
import { openDoor, type Door } from './door.ts'

interface Example {
  readonly name: string
  readonly examples: readonly object[]
}

const published = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Example[]
const events = published.map(({ name }) => name)
const examples = published.flatMap(({ name, examples: payloads }) =>
  payloads.map((payload) => ({ event: name, payload })),
)

/** All that a run type can listen to. */
const everything = Object.fromEntries(
  [
    ...['check_run', 'check_suite', 'issue_comment', 'pull_request', 'pull_request_review'],
    ...['pull_request_review_comment', 'pull_request_review_thread', 'push'],
  ].map((event) => [event, []]),
)
const configs = [
  ['a server without a configuration', {}],
  [
    'a server that listens to everything',
    { runs: { all: { on: everything }, picky: { on: everything, when: () => 'not today' } } },
  ],
  ['a server that runs again on everything', { runs: { again: { rerunOn: everything } } }],
] as const

function expectDecided(entries: readonly InboxEntry[]): void {
  const undecided = entries.filter(({ state, decision, reason, outcomes }) => {
    const silent = decision === 'ignored' && reason === null
    return state !== 'processed' || silent || outcomes.some((outcome) => outcome.reason === '')
  })
  expect(undecided).toEqual([])
}

it('there are examples of all 58 events', () => {
  expect(events).toHaveLength(58)
  expect(examples.length).toBeGreaterThan(300)
})

describe.each(configs)('%s', (_name, config) => {
  let door: Door
  beforeAll(async () => {
    door = await openDoor(config)
  })
  afterAll(() => door.close())

  it('takes every example and decides on each', async () => {
    const answers = await Promise.all(examples.map((example) => door.send(example)))
    for (const [n, { status, body }] of answers.entries()) {
      expect([examples[n]?.event, [200, 202].includes(status)]).toEqual([examples[n]?.event, true])
      expect(status === 202).toBe(body.decision === 'accepted')
      if (status === 200) expect(body.reason).toEqual(expect.any(String))
    }
    const entries = await door.processed()
    expect(entries).toHaveLength(new Set(answers.map(({ body }) => body.inbox_id)).size)
    expect(entries).toHaveLength(examples.length)
    const results = new Set(entries.flatMap(({ outcomes }) => outcomes.map(({ result }) => result)))
    expect(results).toContain('claimed')
    expectDecided(entries)
    expect(door.complaints).toEqual([])
  }, 30_000)

  it('takes them also when parts are missing or are something else', async () => {
    const bent = fc
      .tuple(fc.constantFrom(...examples), fc.array(bending, { minLength: 1, maxLength: 4 }))
      .map(([{ event, payload }, bends]) => ({ event, payload: bends.reduce(bend, payload) }))
    const before = (await door.processed()).length
    const sent = fc.sample(bent, { numRuns: 400, seed: 5 })
    const answers = await Promise.all(sent.map((webhook) => door.send(webhook)))
    expect(answers.filter(({ status }) => ![200, 202].includes(status))).toEqual([])
    const entries = await door.processed()
    expect(entries).toHaveLength(before + sent.length)
    expectDecided(entries)
    expect(door.complaints).toEqual([])
  }, 30_000)
})

/** Which part of a payload (as a fraction of all its parts) becomes what; undefined removes it. */
interface Bend {
  readonly at: number
  readonly to: unknown
}

const odd = fc.oneof(
  fc.constantFrom(undefined, null, 0, -1, 1.5, 2 ** 53, '', [], {}, true, '\u0000', '\ud800'),
  fc.constantFrom(
    'x'.repeat(100_000),
    '9999-12-31T23:59:59Z',
    '__proto__',
    'a/b/c',
    'A'.repeat(40),
  ),
  fc.jsonValue({ maxDepth: 2 }),
)
const bending: fc.Arbitrary<Bend> = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  to: odd,
})

/** A copy with one part bent. The parts near the root come first: those are what we read. */
function bend(payload: unknown, { at, to }: Bend): unknown {
  if (typeof payload !== 'object' || payload === null) return payload
  const copy = structuredClone(payload) as Record<string, unknown>
  const places = placesIn(copy)
  const place = places[Math.floor(at * at * places.length)]
  if (place === undefined) return copy
  if (to === undefined) Reflect.deleteProperty(place.of, place.key)
  else place.of[place.key] = to
  return copy
}

interface Place {
  readonly of: Record<string, unknown>
  readonly key: string
}

function placesIn(root: Record<string, unknown>): Place[] {
  const places: Place[] = []
  let level = [root]
  while (level.length > 0) {
    places.push(...level.flatMap((of) => Object.keys(of).map((key) => ({ of, key }))))
    level = level.flatMap((of) =>
      Object.values(of).filter((value): value is Record<string, unknown> => {
        return typeof value === 'object' && value !== null
      }),
    )
  }
  return places
}
