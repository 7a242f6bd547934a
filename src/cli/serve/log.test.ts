import { describe, expect, test } from 'vitest'
import { paintFor } from '../output/paint.ts'
import { readableLine } from './log-line.ts'
import { makeLog } from './log.ts'

test('a log line is JSON without anything that looks like a secret', () => {
  let written = ''
  const log = makeLog('info', { err: (text) => (written += text), logStyle: 'json' })
  log.info(
    {
      token: 'hunter2',
      req: { headers: { authorization: 'hunter2' }, url: '/x' },
      settings: { adminToken: null, secret: '(given)' },
    },
    'hello',
  )
  log.debug('too little to tell')
  expect(JSON.parse(written)).toMatchObject({
    msg: 'hello',
    token: '(hidden)',
    req: { headers: { authorization: '(hidden)' }, url: '/x' },
    settings: { adminToken: null, secret: '(given)' },
  })
})

test('a secret in an error from another library is removed, too', () => {
  let written = ''
  const log = makeLog('info', { err: (text) => (written += text), logStyle: 'json' })
  const error = new Error(
    'connect to postgres://me:hunter2@db.example/x failed for ghs_hunter2hunter2',
  )
  log.error({ err: error, run_id: 'run_1' }, 'could not say Bearer hunter2hunter2')
  expect(written).not.toContain('hunter2')
  expect(JSON.parse(written)).toMatchObject({ run_id: 'run_1', err: { type: 'Error' } })
})

describe('on a terminal', () => {
  const entry = {
    level: 30,
    time: Date.parse('2026-01-31T12:05:02.345Z'),
    msg: 'Published',
    channel: 'github-comment',
    name: null,
    run_ids: [],
    tries: 2,
    trouble: { code: 'x y' },
    reason: 'two words',
  }
  const plain = paintFor(false)

  test('a line has time, level, message and fields', () => {
    expect(readableLine(`${JSON.stringify(entry)}\n`, plain)).toBe(
      '12:05:02Z INFO  Published  ' +
        'channel=github-comment tries=2 trouble={"code":"x y"} reason="two words"\n',
    )
  })

  test('an error follows on its own lines, with its stack at the level error', () => {
    const err = { type: 'Error', message: 'no disk', stack: 'Error: no disk\n    at f (a.ts:1)' }
    const line = (level: number) =>
      readableLine(JSON.stringify({ ...entry, level, trouble: null, reason: null, err }), plain)
    expect(line(40)).toContain('WARN  Published  channel=github-comment tries=2\n')
    expect(line(40)).toMatch(/\n {10}Error: no disk\n$/)
    expect(line(50)).toMatch(/\n {10}Error: no disk\n {14}at f \(a\.ts:1\)\n$/)
  })

  test('only the level, the time and the fields are coloured', () => {
    const line = readableLine(
      JSON.stringify({ level: 40, time: 0, msg: 'Hm', a: 1 }),
      paintFor(true),
    )
    expect(line).toBe('\x1b[2m00:00:00Z\x1b[22m \x1b[33mWARN \x1b[39m Hm  \x1b[2ma=1\x1b[22m\n')
  })

  test('text from outside cannot move the cursor', () => {
    const line = JSON.stringify({
      ...entry,
      msg: 'a\x1b[2Jb',
      branch: 'x\x1b]0;y',
      err: { type: '\x1b' },
    })
    expect(readableLine(line, plain)).not.toContain('\x1b')
  })

  test('secrets are removed, too, and nothing is JSON', () => {
    let written = ''
    const log = makeLog('info', { err: (text) => (written += text), logStyle: 'plain' })
    log.info({ token: 'hunter2' }, 'hello Bearer hunter2hunter2')
    expect(written).toMatch(
      /^\d\d:\d\d:\d\dZ INFO {2}hello Bearer \(hidden\) {2}token=\(hidden\)\n$/,
    )
  })
})
