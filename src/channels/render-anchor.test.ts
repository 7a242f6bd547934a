import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AnchorView, Locale } from '../domain/outbox/anchor-view.ts'
import { runStates, verdicts } from '../domain/run.ts'
import { renderAnchor } from './render-anchor.ts'

const at = (hour: number, minute: number, second = 0, day = 7): number =>
  Date.UTC(2026, 7, day, hour, minute, second)

const queued: AnchorView = {
  locale: 'en',
  type: 'review',
  runId: 'run_1',
  state: 'pending',
  verdict: null,
  round: 1,
  attempt: 1,
  headSha: 'a1b2c3d4e5'.repeat(4),
  baseSha: 'f0e1d2c3b4'.repeat(4),
  createdAt: at(12, 0),
  startedAt: null,
  finishedAt: null,
  summary: null,
  errorCode: null,
  errorText: null,
  targetUrl: null,
  reports: [],
  phases: [],
  past: [],
  pastMore: 0,
}
const running = { state: 'running', startedAt: at(12, 1) } as const
const done = { startedAt: at(12, 1), finishedAt: at(12, 9, 12) } as const
const succeeded = { ...done, state: 'succeeded' } as const
const failed = { ...done, state: 'failed' } as const

const render = (view: Partial<AnchorView>): string => renderAnchor({ ...queued, ...view })

const factsOf = { en: 'Commit a1b2c3d · base f0e1d2c', ru: 'Коммит a1b2c3d · база f0e1d2c' }
const tookOf = {
  en: '7 Aug 2026, 12:01–12:09 UTC · 8 min 12 s',
  ru: '7 авг 2026, 12:01–12:09 UTC · 8 мин 12 с',
}
const rerunOf = {
  en: '<sub>Run it again with `holdfast runs rerun run_1`</sub>',
  ru: '<sub>Запустить снова: `holdfast runs rerun run_1`</sub>',
}

/** The parts of a comment that differ, with the parts that every finished comment has. */
function finished(locale: Locale, ...first: readonly string[]): string {
  const facts = `${factsOf[locale]} · ${tookOf[locale]}`
  return [...first, facts, rerunOf[locale]].join('\n\n')
}

describe('every state, in both languages', () => {
  test('waiting for a worker', () => {
    expect(render({})).toBe(
      '### 🕓 review: waiting for a worker\n\n' +
        'Commit a1b2c3d · base f0e1d2c · queued 7 Aug 2026, 12:00 UTC',
    )
    expect(render({ locale: 'ru' })).toBe(
      '### 🕓 review: ожидает исполнителя\n\n' +
        'Коммит a1b2c3d · база f0e1d2c · в очереди с 7 авг 2026, 12:00 UTC',
    )
  })

  test('running', () => {
    expect(render(running)).toBe(
      '### ⏳ review: running\n\n' +
        'Commit a1b2c3d · base f0e1d2c · started 7 Aug 2026, 12:01 UTC',
    )
    expect(render({ ...running, locale: 'ru' })).toBe(
      '### ⏳ review: выполняется\n\n' +
        'Коммит a1b2c3d · база f0e1d2c · начато 7 авг 2026, 12:01 UTC',
    )
  })

  test('waiting for a person', () => {
    const waiting = { ...running, state: 'waiting' } as const
    expect(render(waiting)).toContain('### ✋ review: waiting for a person\n')
    expect(render({ ...waiting, locale: 'ru' })).toContain(
      '### ✋ review: ожидает ответа человека\n',
    )
  })

  test.each([
    ['success', '✅', 'passed', 'успешно'],
    [null, '✅', 'passed', 'успешно'],
    ['failure', '❌', 'not passed', 'не пройдено'],
    ['neutral', 'ℹ️', 'done, no verdict', 'завершено, без оценки'],
  ] as const)('succeeded with the verdict %s', (verdict, emoji, en, ru) => {
    const view = { ...succeeded, verdict }
    expect(render(view)).toBe(finished('en', `### ${emoji} review: ${en}`))
    expect(render({ ...view, locale: 'ru' })).toBe(finished('ru', `### ${emoji} review: ${ru}`))
  })

  test.each([
    [
      'timeout',
      ['### ⏰ review: timed out', 'It was not done in time and was stopped.'],
      ['### ⏰ review: время вышло', 'Работа не уложилась в отведённое время и была остановлена.'],
    ],
    [
      'worker_lost',
      ['### 🔌 review: worker lost', 'The worker stopped answering, so there is no result.'],
      ['### 🔌 review: исполнитель потерян', 'Исполнитель перестал отвечать, результата нет.'],
    ],
    [
      'attempts_exhausted',
      ['### 🔌 review: worker lost', 'Too many workers in a row were lost, so there is no result.'],
      [
        '### 🔌 review: исполнитель потерян',
        'Слишком много исполнителей подряд было потеряно, результата нет.',
      ],
    ],
    [
      'no_worker',
      ['### 💤 review: no worker', 'No worker took it in time.'],
      ['### 💤 review: нет исполнителя', 'За отведённое время работу никто не взял.'],
    ],
    [
      'bad_diff',
      ['### 💥 review: failed', '> could not parse \\`a\\` · `bad_diff`'],
      ['### 💥 review: ошибка', '> could not parse \\`a\\` · `bad_diff`'],
    ],
  ] as const)('failed: %s', (errorCode, en, ru) => {
    const view = { ...failed, errorCode, errorText: 'could not parse `a`' }
    expect(render(view)).toBe(finished('en', ...en))
    expect(render({ ...view, locale: 'ru' })).toBe(finished('ru', ...ru))
  })

  test('a failed command, with how it ended and its last lines, made harmless', () => {
    const output = ['x'.repeat(600), '# a', '', '```', '@acme/team', '<!-- b -->', '--- why']
    const errorText = ['exit code 4', ...output].join('\n')
    const body = render({ ...failed, errorCode: 'command_failed', errorText })
    const [first, , ...last] = body.split('\n').filter((line) => line.startsWith('>'))
    expect(first).toBe('> exit code 4 · `command_failed`')
    const lines = ['\\# a', '\\`\\`\\`', '@\u200bacme/team', '&lt;!-- b --&gt;', '\\--- why']
    expect(last.slice(-5)).toEqual(lines.map((line) => `> ${line}`))
  })

  test('failed without an error text', () => {
    expect(render(failed)).toBe(finished('en', '### 💥 review: failed'))
  })

  test('cancelled, by a person or with its pull request', () => {
    const cancelled = { ...done, state: 'cancelled' } as const
    expect(render(cancelled)).toBe(finished('en', '### 🚫 review: cancelled'))
    const closed = { ...cancelled, errorCode: 'pull_request_closed', errorText: 'x' }
    expect(render(closed)).toBe(
      `### 🚫 review: cancelled\n\nThe pull request was closed.\n\n${factsOf.en} · ${tookOf.en}`,
    )
    expect(render({ ...closed, locale: 'ru' })).toBe(
      `### 🚫 review: отменено\n\nПул-реквест закрыт.\n\n${factsOf.ru} · ${tookOf.ru}`,
    )
  })

  test('skipped, with the given reason or without one', () => {
    const skipped = { ...done, state: 'skipped', errorCode: 'skipped' } as const
    const en = '### ⏭️ review: skipped'
    expect(render({ ...skipped, errorText: '# bot @author' })).toBe(
      finished('en', en, '> \\# bot @\u200bauthor'),
    )
    expect(render({ ...skipped, errorText: 'filtered' })).toBe(
      finished('en', en, 'The rules for this kind of work left it out.'),
    )
    expect(render({ ...skipped, errorCode: null })).toBe(finished('en', en))
    expect(render({ ...skipped, errorText: 'filtered', locale: 'ru' })).toBe(
      finished('ru', '### ⏭️ review: пропущено', 'Эта работа исключена правилами.'),
    )
  })

  test('superseded, without the command for a rerun', () => {
    const superseded = { ...done, state: 'superseded' } as const
    expect(render(superseded)).toBe(
      '### ⏩ review: superseded by a newer commit\n\n' + `${factsOf.en} · ${tookOf.en}`,
    )
    expect(render({ ...superseded, locale: 'ru' })).toBe(
      '### ⏩ review: заменено более новым коммитом\n\n' + `${factsOf.ru} · ${tookOf.ru}`,
    )
  })
})

describe('facts', () => {
  const factLine = (view: Partial<AnchorView>): string => render(view).split('\n')[2] ?? ''

  test('a missing fact leaves no gap', () => {
    expect(factLine({ headSha: null, baseSha: null, ...running })).toBe(
      'started 7 Aug 2026, 12:01 UTC',
    )
    expect(render({ headSha: null, baseSha: null, round: 2 })).toBe(
      '### 🕓 review: waiting for a worker\n\nround 2',
    )
    expect(factLine({ ...succeeded, startedAt: null })).toBe(
      'Commit a1b2c3d · base f0e1d2c · ended 7 Aug 2026, 12:09 UTC',
    )
  })

  test('rounds and attempts are shown from the second one on', () => {
    expect(factLine({ ...running, round: 2, attempt: 3 })).toMatch(/ · round 2 · attempt 3$/)
    expect(factLine({ ...running, round: 2, attempt: 3 })).not.toContain('queued')
  })

  test.each([
    [at(12, 1), '7 Aug 2026, 12:01 UTC · < 1 s'],
    [at(12, 1, 59), '7 Aug 2026, 12:01 UTC · 59 s'],
    [at(14, 1, 30), '7 Aug 2026, 12:01–14:01 UTC · 2 h'],
    [at(0, 1, 0, 9), '7 Aug 2026, 12:01 – 9 Aug 2026, 00:01 UTC · 1 d 12 h'],
    [at(11, 0), '7 Aug 2026, 12:01–11:00 UTC · < 1 s'],
  ])('a time that ended at %d', (finishedAt, times) => {
    expect(factLine({ ...succeeded, finishedAt })).toBe(`${factsOf.en} · ${times}`)
  })
})

test('phases are a list with boxes, and the current one is bold', () => {
  const phases = [
    { name: 'plan', state: 'complete' },
    { name: 'deliver', state: 'waiting_approval' },
    { name: 'compound', state: 'pending' },
  ] as const
  expect(render({ ...running, phases })).toContain(
    '\n\n- [x] plan\n- [ ] **deliver**: waiting for approval\n- [ ] compound',
  )
  expect(render({ ...running, phases, locale: 'ru' })).toContain('**deliver**: ожидает одобрения')
})

test('reports have their time, the day if it is another one, and their count', () => {
  const reports = [
    { text: 'clone', count: 1, at: at(23, 58, 0, 6) },
    { text: 'read | the\ndiff', count: 1, at: at(0, 2) },
    { text: 'ask', count: 3, at: at(0, 5) },
  ]
  expect(render({ ...running, reports })).toContain(
    '\n\n**Progress**\n- 6 Aug 23:58 clone\n- 00:02 read \\| the diff\n- 00:05 ask ×3',
  )
  expect(render({ ...running, reports, locale: 'ru' })).toContain(
    '\n\n**Ход работы**\n- 6 авг 23:58 clone\n- 00:02',
  )
})

describe('earlier runs', () => {
  const past = (count: number): AnchorView['past'] =>
    Array.from({ length: count }, (_, index) => ({
      runId: `run_${index}`,
      headSha: `${index}`.repeat(40),
      state: index === 1 ? 'running' : 'superseded',
      at: at(11, 59 - index),
    }))

  test('up to three are shown', () => {
    expect(render({ ...running, past: past(3), pastMore: 1 })).toContain(
      [
        '\n\n**Earlier runs**',
        '- 0000000 superseded, 7 Aug 2026, 11:59 UTC',
        '- 1111111 superseded, 7 Aug 2026, 11:58 UTC',
        '- 2222222 superseded, 7 Aug 2026, 11:57 UTC',
        '- and 1 earlier',
      ].join('\n'),
    )
  })

  test('more of them are folded', () => {
    const body = render({ ...running, past: past(4), pastMore: 18, locale: 'ru' })
    expect(body).toContain(
      '<details>\n<summary>22 прошлых запуска</summary>\n\n- 0000000 заменено, 7 авг',
    )
    expect(body).toMatch(/\n- и ещё 18 более ранних\n\n<\/details>$/)
    expect(render({ ...running, past: past(4) })).toContain('<summary>4 earlier runs</summary>')
  })
})

describe('links', () => {
  const footer = (view: Partial<AnchorView>): string => render(view).split('\n').at(-1) ?? ''

  test('lead to what the run named', () => {
    expect(footer({ ...succeeded, targetUrl: 'https://ci.example/a(1)' })).toBe(
      '<sub>[Details](https://ci.example/a%281%29) · ' +
        'Run it again with `holdfast runs rerun run_1`</sub>',
    )
    expect(footer({ ...running, locale: 'ru', targetUrl: 'https://ci.example/' })).toBe(
      '<sub>[Подробности](https://ci.example/)</sub>',
    )
  })

  test.each([
    'javascript:alert(1)',
    'nonsense',
    'https://me@ci.example/',
    'https://me:secret@ci.example/',
    'https://ci.example/?token=abc',
    `https://ci.example/${'a'.repeat(2000)}`,
  ])('do not lead to %s', (targetUrl) => {
    expect(render({ ...running, targetUrl })).not.toContain('](')
  })
})

describe('a summary', () => {
  test('is between the facts and the events', () => {
    const reports = [{ text: 'ask', count: 1, at: at(12, 5) }]
    const body = render({ ...succeeded, summary: '1. one\n2. two @a', reports })
    expect(body).toContain(' s\n\n1. one\n2. two @\u200ba\n\n**Progress**\n')
  })

  test('of a megabyte is cut, and the rest of the comment stays', () => {
    const reports = [{ text: 'ask', count: 1, at: at(12, 5) }]
    const summary = `\`\`\`\n${'👨‍👩‍👧 line\n'.repeat(80_000)}`
    const body = render({ ...succeeded, summary, reports, locale: 'ru' })
    expect(body.length).toBeLessThanOrEqual(64_700)
    expect(body.length).toBeGreaterThan(60_000)
    expect(body).toMatch(
      /line\n```\n\n_Сокращено: остальное не поместилось в комментарий\._\n\n\*\*Ход работы\*\*/,
    )
    expect(body.endsWith(rerunOf.ru)).toBe(true)
  })
})

const hostile = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        ...[
          '@octocat',
          '<!--',
          '-->',
          '<!-- holdfast:',
          '<details>',
          '</details>',
          '\n',
          '# ',
          '|',
        ],
        ...['](http://a.b/@c)', '[', '&#64;a', '👨‍👩‍👧', '\ud83d', '\u202e', 'a', ' ', '\\', '*'],
      ),
      { maxLength: 60 },
    )
    .map((all) => all.join('')),
  fc.string({ unit: 'binary' }).map((text) => text.replaceAll(/[`~]/g, '')),
)
const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
const hostileView: fc.Arbitrary<AnchorView> = fc.record({
  locale: fc.constantFrom('en', 'ru'),
  type: hostile,
  runId: hostile,
  state: fc.constantFrom(...runStates),
  verdict: fc.option(fc.constantFrom(...verdicts)),
  round: fc.integer({ min: 1, max: 9 }),
  attempt: fc.integer({ min: 1, max: 9 }),
  headSha: fc.option(hostile),
  baseSha: fc.option(hostile),
  createdAt: time,
  startedAt: fc.option(time),
  finishedAt: fc.option(time),
  summary: fc.option(hostile),
  errorCode: fc.option(fc.oneof(hostile, fc.constantFrom('timeout', 'constructor', 'skipped'))),
  errorText: fc.option(hostile),
  targetUrl: fc.option(
    fc.oneof(
      hostile,
      hostile.map((text) => `https://a.b/${text}`),
    ),
  ),
  reports: fc.array(fc.record({ text: hostile, count: fc.nat(9), at: time }), { maxLength: 5 }),
  phases: fc.array(
    fc.record({
      name: hostile,
      state: fc.constantFrom('pending', 'active', 'waiting_approval', 'complete', 'failed'),
    }),
    { maxLength: 40 },
  ),
  past: fc.array(
    fc.record({
      runId: hostile,
      headSha: fc.option(hostile),
      state: fc.constantFrom(...runStates),
      at: time,
    }),
    { maxLength: 12 },
  ),
  pastMore: fc.nat(100),
})

test('any view gives no marker, no mention, a limited length and always the same text', () => {
  fc.assert(
    fc.property(hostileView, fc.integer({ min: 500, max: 5000 }), (view, maxLength) => {
      const options = { maxLength }
      const body = renderAnchor(view, options)
      expect(body).not.toContain('<!--')
      expect(body).not.toMatch(/(?<![A-Za-z0-9])@[A-Za-z0-9]/)
      expect(body.length).toBeLessThanOrEqual(maxLength)
      expect(body.isWellFormed()).toBe(true)
      expect(body.match(/^ {0,3}<details/gm)?.length).toBe(body.match(/^<\/details>/gm)?.length)
      expect(renderAnchor(structuredClone(view), options)).toBe(body)
    }),
    { numRuns: 300, seed: 5 },
  )
})
