/**
 * Goal: everything that GitHub sends is accepted and decided, with a reason if it starts nothing.
 * Method: every published example of every event is signed and sent to a real server, first without
 * a configuration, then with one that listens to everything; then with parts of the payloads
 * removed or replaced.
 */
import fc from 'fast-check'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InboxEntry } from '../../src/domain/inbox.ts'
import { openWebhookServer, type WebhookServer } from './webhook-server.ts'

interface Example {
  readonly name: string
  readonly examples: readonly object[]
}

const published = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly Example[]
const events = published.map(({ name }) => name)
const examples = published.flatMap(({ name, examples: payloads }) =>
  payloads.map((payload) => ({ event: name, payload })),
)

/** All events that a run type can listen to. */
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
  let server: WebhookServer
  beforeAll(async () => {
    server = await openWebhookServer(config)
  })
  afterAll(() => server.close())

  it('accepts every example and decides on each', async () => {
    const answers = await Promise.all(examples.map((example) => server.send(example)))
    for (const [n, { status, body }] of answers.entries()) {
      expect([examples[n]?.event, [200, 202].includes(status)]).toEqual([examples[n]?.event, true])
      expect(status === 202).toBe(body.decision === 'accepted')
      if (status === 200) expect(body.reason).toEqual(expect.any(String))
    }
    const entries = await server.processed()
    expect(entries).toHaveLength(new Set(answers.map(({ body }) => body.inbox_id)).size)
    expect(entries).toHaveLength(examples.length)
    const results = new Set(entries.flatMap(({ outcomes }) => outcomes.map(({ result }) => result)))
    expect(results).toContain('claimed')
    expectDecided(entries)
    expect(server.complaints).toEqual([])
  }, 30_000)

  it('accepts them also if parts are missing or replaced', async () => {
    const changed = fc
      .tuple(fc.constantFrom(...examples), fc.array(replacement, { minLength: 1, maxLength: 4 }))
      .map(([{ event, payload }, replacements]) => ({
        event,
        payload: replacements.reduce(replacePart, payload),
      }))
    const before = (await server.processed()).length
    const sent = fc.sample(changed, { numRuns: 400, seed: 5 })
    const answers = await Promise.all(sent.map((webhook) => server.send(webhook)))
    expect(answers.filter(({ status }) => ![200, 202].includes(status))).toEqual([])
    const entries = await server.processed()
    expect(entries).toHaveLength(before + sent.length)
    expectDecided(entries)
    expect(server.complaints).toEqual([])
  }, 30_000)
})

/**
 * Which part of a payload (as a fraction of all its parts) is replaced by what; undefined removes
 * it.
 */
interface Replacement {
  readonly at: number
  readonly to: unknown
}

const oddValue = fc.oneof(
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
const replacement: fc.Arbitrary<Replacement> = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  to: oddValue,
})

/**
 * A copy with one part replaced. Parts near the root are more likely, because Holdfast reads those.
 */
function replacePart(payload: unknown, { at, to }: Replacement): unknown {
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
