/**
 * Goal: every decision has words, and no text from outside can break its line.
 * Method: the tests go through the lists of the domain and the reasons in the source.
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuditRow } from '../../domain/audit.ts'
import { auditTypes } from '../../domain/audit.ts'
import { claimReasons } from '../../domain/claim.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { Run } from '../../domain/run.ts'
import { startFailureText } from '../../executors/command/start-failure.ts'
import { givenUpReasons } from '../../intake/processor.ts'
import { failedBecause } from '../delivery-reasons.ts'
import { deliveryName, withRunTypes } from './delivery-words.ts'
import { actorWords, keyWords, lengthWords, cleanText, quoted, timeWords } from './names.ts'
import { claimWords, failureWords, rowWords } from './row-words.ts'
import { becauseWords, eventWords, intakeReasons } from './webhook-words.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const jargon = /\b(fence|CAS|lane|undefined|null|NaN)\b|\[object/

const row = (over: Partial<AuditRow>): AuditRow => ({
  id: 7,
  causeId: null,
  order: 7,
  at: 0,
  type: 'run.claimed',
  actor: 'admin',
  runId: 'run_1',
  data: {},
  ...over,
})

const nobody = { run: null, delivery: null, who: null }
const nope = { command: ['nope'], cwd: '/srv' }
const noNames: ReadonlyMap<string, string> = new Map()

it.each([
  ['publisher', 'while publishing'],
  ['intake', 'while deciding on a webhook'],
  ['catch-up', 'while looking for missed webhooks'],
  ['runs', 'while working on a run'],
])('a limit says what Holdfast was doing when %s met it', (actor, when) => {
  const data = { identity: 'github:app:7', until: 'noon', reason: 'rate_limited' }
  expect(rowWords(row({ type: 'budget.blocked', actor, data }), nobody)).toBe(
    `GitHub asked github:app:7 to wait until noon (rate_limited), ${when}`,
  )
  expect(actorWords(actor, noNames)).toBe('Holdfast')
})

it('a worker has one name, whether it is named by its lease or by what it did', () => {
  const leased = row({ type: 'run.leased', data: { worker: 'builder/1a2b3c4d' } })
  expect(rowWords(leased, nobody)).toMatch(/^Worker builder\/1a2b3c4d took /)
  expect(actorWords('executor:builder/1a2b3c4d', noNames)).toBe('worker builder/1a2b3c4d')
})

it('a missing target is named for what it is', () => {
  expect(failedBecause('not_found', null)).toBe(
    'GitHub does not show us the pull request, issue or commit that it is for (not_found)',
  )
})

describe.each(['docs/guides/webhooks.md', 'docs/reference/http.md'])('%s', (path) => {
  const page = readFileSync(`${root}/${path}`, 'utf8')

  it.each(Object.keys(intakeReasons))('explains %s', (reason) => {
    expect(
      page.split('\n').some((line) => line.startsWith('|') && line.includes(`\`${reason}\``)),
    ).toBe(true)
  })
})

describe('every audit type', () => {
  it.each(auditTypes)('%s has words, also when its data is missing', (type) => {
    const words = rowWords(row({ type }), nobody)
    expect(words.length).toBeGreaterThan(10)
    expect(words).not.toMatch(jargon)
    expect(words).not.toMatch(/\.$/)
  })
})

describe('every reason of a claim', () => {
  const about = { what: 'review of 9c1185a', key: '9c1185a', round: 2, attempt: 3 }

  it.each(claimReasons)('%s has words', (reason) => {
    const claim = { ...about, startState: 'pending', ruleText: null, who: null } as const
    const words = claimWords[reason](claim)
    expect(words).toContain('9c1185a')
    expect(words).not.toMatch(jargon)
    expect(rowWords(row({ data: { reason, key: 'k:head-9c1185a' } }), nobody)).toContain('9c1185a')
  })
})

describe('every reason of the intake', () => {
  const files = globSync(['src/intake/**/*.ts', 'src/stores/verbs/inbox/*.ts'], {
    cwd: root,
    exclude: ['**/*.test.ts'],
  })
  const source = files.map((file) => readFileSync(`${root}/${file}`, 'utf8')).join('\n')
  const written = [
    ...source.matchAll(/\breason: '([a-z-]+)'/g),
    ...source.matchAll(/\bignored\(deed, '([a-z-]+)'\)/g),
    ...source.matchAll(/^ {2}(?:github|hidden|contended|fault): '([a-z-]+)',$/gm),
    ...source.matchAll(/\? reason : '([a-z-]+)'|: '(no-trigger)'|return '(ping)'/g),
  ].flatMap(([, ...reasons]) => reasons.filter((reason) => typeof reason === 'string'))
  const reasons = [...new Set(written)]

  it('is found in the source', () => {
    expect(reasons.length).toBeGreaterThan(18)
    for (const reason of Object.values(givenUpReasons)) expect(reasons).toContain(reason)
    expect(reasons).toContain('ping')
  })

  it.each(reasons)('%s has words', (reason) => {
    expect(Object.hasOwn(intakeReasons, reason), reason).toBe(true)
  })

  it('the text of a `when` rule is quoted, also when it looks like one of our reasons', () => {
    expect(becauseWords({ result: 'skipped', reason: 'draft' })).toMatch(
      /rule \(when\) of the run type said “draft”/,
    )
    expect(becauseWords({ result: 'ignored', reason: 'draft' })).toBe('the pull request is a draft')
    expect(becauseWords({ result: 'ignored', reason: 'constructor' })).toMatch(/“constructor”/)
  })
})

it.each([
  [{ exit_code: 0, run_state: 'running' }, 'ended with exit code 0'],
  [{ exit_code: 0 }, 'ended with exit code 0'],
  [{ exit_code: 3, run_state: 'cancelled' }, 'ended with exit code 3 after the run had ended'],
  [{ exit_code: null, signal: 'SIGTERM' }, 'ended by the signal SIGTERM'],
  [{ failure: 'not_started' }, 'could not be started'],
  [
    { failure: 'not_started', text: startFailureText({ code: 'ENOENT', hasFolder: true }, nope) },
    'could not be started: "nope" was not found (folder /srv)',
  ],
  [
    { failure: 'not_started', text: startFailureText({ code: 'ENOENT', hasFolder: false }, nope) },
    'could not be started: there is no folder /srv',
  ],
])('a command whose end was noted as %o %s', (data, words) => {
  expect(rowWords(row({ type: 'run.command_ended', data }), nobody)).toBe(
    `The command of run run_1 ${words}`,
  )
})

it('a result of a step that was done already came too late because of that', () => {
  const late = row({ type: 'step.late', data: { step: 'model', state: 'done', counted: false } })
  expect(rowWords(late, nobody)).toBe(
    'A result of step “model” came too late and changed nothing, because it was done already',
  )
})

it.each([
  ['repeat', 'executor:node/1', ''],
  ['confirm', 'executor:node/1', ': its check said twice that it was not done'],
  ['confirm', 'token:tok_1', ': its worker said that it was not done'],
])('a step that is taken over with %s by %s says what was found', (policy, actor, found) => {
  const taken = row({ type: 'step.taken_over', actor, data: { step: 'charge', policy } })
  expect(rowWords(taken, nobody)).toBe(`Step “charge” is done again, with the same key${found}`)
})

it('a result with a wrong start id is not said to be late, and no other worker is named', () => {
  const data = { step: 'model', state: 'started', counted: false, other_start: true }
  expect(rowWords(row({ type: 'step.late', data }), nobody)).toBe(
    'A result of step “model” changed nothing, because its worker had begun the step with ' +
      'another start_id',
  )
})

it.each([
  [{ text: 'The pull request has newer commits' }, '“The pull request has newer commits”'],
  [{ summary: 'Only docs' }, '“Only docs”'],
  [{}, 'nothing to do'],
])('a run that its worker skipped with %o has the reason', (data, words) => {
  expect(rowWords(row({ type: 'run.skipped', data }), nobody)).toBe(
    `Its worker skipped run run_1: ${words}`,
  )
})

it.each([
  [true, 'label “todo” set'],
  [false, 'label “todo” removed'],
])('a label that should be present: %s', (present, words) => {
  const content = JSON.stringify({ label: 'todo', present })
  const version = { versionFence: 3, versionSeq: 1 }
  const delivery = { id: 'del_1', channel: 'github-label', name: 'own', content, sha: null }
  const sent = row({ type: 'delivery.sent', data: { version: { fence: 3, seq: 1 } } })
  expect(rowWords(sent, { ...nobody, delivery: { ...delivery, ...version } })).toBe(words)
})

describe('outputs of several run types', () => {
  const runs = ['review', 'lint'].map((type) => ({ id: `run_${type}`, type }) as Run)
  const own = { runId: 'run_lint', sha: null }
  const anchor = { ...own, channel: 'github-comment', name: 'anchor', content: '{}' }
  const status = { ...own, channel: 'github-status', name: 's', content: '{"context":"lint"}' }
  const deliveries = [anchor, status] as unknown as readonly Delivery[]

  it('are named with their types, unless their contexts tell them apart', () => {
    const named = withRunTypes(deliveries, runs)
    expect(named.map(deliveryName)).toEqual(['the comment of lint', 'the commit status lint'])
    const sent = row({ type: 'delivery.sent', data: { provider_id: '77' } })
    const [comment] = named
    expect(rowWords(sent, { ...nobody, delivery: comment ?? null })).toBe(
      'comment 77 of lint created',
    )
  })

  it('are named without them if there is one type', () => {
    const named = withRunTypes(deliveries, runs.slice(1))
    expect(named.map(deliveryName)).toEqual(['the comment', 'the commit status lint'])
  })
})

describe('words from outside', () => {
  const named = { id: 'del_1', sha: null, versionFence: 7, versionSeq: 1 }
  const nasty = [
    '\u001b[31mred',
    'two\nlines\r\n',
    '\u202eright',
    '<b>`x`</b>[a](b)',
    'a\u2028b',
    '\ud800',
  ]

  it.each(nasty)('%j stays on its line and contains no markup', (text) => {
    // eslint-disable-next-line no-control-regex -- it is about control characters
    const harmful = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e<>`\ud800]|\]\(/
    for (const cleaned of [
      cleanText(text),
      quoted(text),
      actorWords(`github:${text}`, noNames),
      actorWords(text, noNames),
      actorWords('token:7', new Map([['7', text]])),
      keyWords(text),
      eventWords({ event: text, action: text, sender: text }),
      becauseWords({ result: 'skipped', reason: text, detail: text }),
      failureWords(text, text),
      rowWords(row({ type: 'run.purged', runId: null, data: { state: text, key: text } }), nobody),
      rowWords(row({ type: 'run.leased', data: { worker: text } }), nobody),
      rowWords(row({ type: 'run.cancelled', actor: text, data: { why: text } }), nobody),
      rowWords(row({ type: 'webhook.postponed', data: { why: text } }), nobody),
      rowWords(row({ type: 'run.agent.status_reported', data: { status: text } }), nobody),
      rowWords(
        row({
          type: 'run.github_token_issued',
          data: { repo: text, permissions: { [text]: text } },
        }),
        nobody,
      ),
      rowWords(row({ type: 'delivery.failed', data: { reason: text, text } }), nobody),
      rowWords(row({ type: 'budget.blocked', data: { identity: text, reason: text } }), nobody),
      rowWords(row({ type: 'operator.delivery_skipped', data: { reason: text } }), nobody),
      deliveryName({ ...named, channel: 'github-comment', name: text, content: '{}' }),
      deliveryName({
        ...named,
        channel: 'github-label',
        name: 'x',
        content: JSON.stringify({ label: text }),
      }),
    ]) {
      expect(cleaned).not.toMatch(harmful)
    }
  })

  it('are cut, and never in the middle of a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const cleaned = cleanText(text, 50)
        expect(cleaned.length).toBeLessThanOrEqual(50)
        expect(cleaned.isWellFormed()).toBe(true)
      }),
      { seed: 8 },
    )
  })
})

describe('times', () => {
  it('have their day when it is not today', () => {
    const now = Date.UTC(2026, 0, 2, 3)
    expect(timeWords(now, now)).toBe('03:00:00 UTC')
    expect(timeWords(now - 86_400_000, now)).toBe('2026-01-01 03:00:00 UTC')
  })

  it('have their lengths in the unit that fits', () => {
    expect([1, 1000, 90_000, 3_600_000, 7_200_000, 86_400_000].map(lengthWords)).toEqual([
      '1 second',
      '1 second',
      '90 seconds',
      '1 hour',
      '2 hours',
      '1 day',
    ])
  })

  it('in our own error texts are written for people', () => {
    const text = 'no worker took it within 3600000 ms'
    expect(failureWords('no_worker', text)).toBe('no worker took it within 1 hour (no_worker)')
    expect(failureWords('oom', 'took 5 ms')).toBe('“took 5 ms” (oom)')
  })
})
