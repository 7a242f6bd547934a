import { describe, expect, test } from 'vitest'
import { runStates, verdicts, type Run } from '../../run.ts'
import { showsResult } from './shown-state.ts'
import { checkOf, statusOf } from './status-words.ts'
import { ownReasons } from './words.ts'
import { plural } from './ru.ts'

const blank = {
  state: 'pending',
  locale: 'en',
  verdict: null,
  summary: null,
  description: null,
  errorCode: null,
  errorText: null,
} as Run
const runOf = (run: Partial<Run>): Run => ({ ...blank, ...run })

test('an active run has the same text in every state, so it is written only once', () => {
  for (const state of ['pending', 'running', 'waiting'] as const) {
    const run = runOf({ state, summary: 'of the last round' })
    const words = 'Waiting for the result'
    expect(statusOf(run)).toEqual({ state: 'pending', description: words })
    expect(checkOf(run)).toEqual({
      status: 'in_progress',
      conclusion: null,
      title: words,
      summary: words,
    })
    expect(statusOf({ ...run, locale: 'ru-RU' }).description).toBe('Ожидается результат')
  }
})

test('a run shows a result exactly if its status is success or failure', () => {
  for (const state of runStates) {
    for (const verdict of [null, ...verdicts]) {
      for (const errorCode of [null, 'broken', ...ownReasons]) {
        const run = runOf({ state, verdict, errorCode })
        expect([run, showsResult(run)]).toEqual([
          run,
          ['success', 'failure'].includes(statusOf(run).state),
        ])
      }
    }
  }
})

describe('the status of an ended run', () => {
  test('of a failed command says how it ended, and its last line', () => {
    const errorText = `exit code 4\n${'a line\n'.repeat(100)}the reason`
    const run = runOf({ state: 'failed', errorCode: 'command_failed', errorText })
    const { description } = statusOf(run)
    expect(description).toMatch(/^Failed: exit code 4 … .* the reason$/)
    expect(description.length).toBeLessThanOrEqual(140)
  })

  const failed = (errorCode: string) => ({ state: 'failed', errorCode, errorText: 'x' }) as const

  test.each([
    [{ state: 'succeeded' }, 'success', 'success', 'Passed', 'Успешно'],
    [{ state: 'succeeded', verdict: 'success' }, 'success', 'success', 'Passed', 'Успешно'],
    [{ state: 'succeeded', verdict: 'failure' }, 'failure', 'failure', 'Not passed', 'Не пройдено'],
    [
      { state: 'succeeded', verdict: 'neutral' },
      ...['success', 'neutral', 'Done, no verdict', 'Завершено, без оценки'],
    ],
    [{ state: 'failed' }, 'failure', 'failure', 'Failed', 'Ошибка'],
    [failed('bad_diff'), 'failure', 'failure', 'Failed: x', 'Ошибка: x'],
    [failed('timeout'), 'error', 'timed_out', 'Timed out', 'Время вышло'],
    [
      failed('step_unresolved'),
      ...['error', 'timed_out', 'Nobody decided about a held step in time'],
      'За отведённое время никто не принял решение о шаге',
    ],
    [
      failed('worker_lost'),
      ...['error', 'cancelled', 'Worker lost, no result', 'Исполнитель потерян, результата нет'],
    ],
    [
      failed('attempts_exhausted'),
      ...['error', 'cancelled', 'Worker lost too many times, no result'],
      'Исполнитель потерян слишком много раз, результата нет',
    ],
    [
      failed('no_worker'),
      ...['error', 'cancelled', 'No worker took it in time'],
      'Нет исполнителя: за отведённое время работу никто не взял',
    ],
    [{ state: 'cancelled' }, 'error', 'cancelled', 'Cancelled', 'Отменено'],
    [
      { state: 'cancelled', errorCode: 'pull_request_closed' },
      ...['error', 'cancelled', 'Cancelled: the pull request was closed'],
      'Отменено: пул-реквест закрыт',
    ],
    [
      { state: 'superseded' },
      ...['error', 'cancelled', 'Superseded by a newer commit', 'Заменено более новым коммитом'],
    ],
    [
      { state: 'skipped', errorCode: 'skipped', errorText: 'bot\nauthor' },
      ...['success', 'skipped', 'Skipped: bot author', 'Пропущено: bot author'],
    ],
    [
      { state: 'skipped', errorCode: 'skipped', errorText: 'filtered' },
      ...['success', 'skipped', 'Skipped: left out by the rules'],
      'Пропущено: исключено правилами',
    ],
    [{ state: 'skipped' }, 'success', 'skipped', 'Skipped', 'Пропущено'],
  ] as [Partial<Run>, string, string, string, string][])(
    'of %o is %s, with the conclusion %s and the text %s',
    (ended, state, conclusion, en, ru) => {
      const run = runOf(ended)
      expect(statusOf(run)).toEqual({ state, description: en })
      expect(checkOf(run)).toMatchObject({ status: 'completed', conclusion, title: en })
      expect(statusOf({ ...run, locale: 'ru' })).toEqual({ state, description: ru })
      expect(en.length).toBeLessThanOrEqual(140)
      expect(ru.length).toBeLessThanOrEqual(140)
    },
  )
})

describe('the holder’s text', () => {
  const completion = { description: ' 2 findings,\n1 high ', summary: '# Findings' }

  test('is the description if the holder ended the run', () => {
    for (const state of ['succeeded', 'failed', 'skipped'] as const) {
      expect(statusOf(runOf({ state, ...completion })).description).toBe('2 findings, 1 high')
    }
  })

  test('is not the description if the run ended in another way', () => {
    const lost = runOf({ state: 'failed', errorCode: 'worker_lost', ...completion })
    expect(statusOf(lost).description).toBe('Worker lost, no result')
    expect(statusOf(runOf({ state: 'superseded', ...completion })).description).toBe(
      'Superseded by a newer commit',
    )
  })

  test('is the summary of the check run; without it, the summary is our own full sentence', () => {
    expect(checkOf(runOf({ state: 'succeeded', ...completion })).summary).toBe('# Findings')
    expect(checkOf(runOf({ state: 'succeeded' })).summary).toBe('Passed')
    expect(checkOf(runOf({ state: 'superseded' })).summary).toBe(
      'A newer commit took its place before it was done.',
    )
    expect(checkOf(runOf({ state: 'failed', errorCode: 'no_worker' })).summary).toBe(
      'No worker took it in time.',
    )
  })
})

test.each([
  [1, 'one'],
  [2, 'few'],
  [4, 'few'],
  [5, 'many'],
  [11, 'many'],
  [14, 'many'],
  [20, 'many'],
  [21, 'one'],
  [22, 'few'],
  [111, 'many'],
  [121, 'one'],
])('in Russian, %d takes the plural form "%s"', (count, form) => {
  expect(plural(count, 'one', 'few', 'many')).toBe(form)
})
