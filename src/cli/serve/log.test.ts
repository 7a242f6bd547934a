import { expect, test } from 'vitest'
import { makeLog } from './log.ts'

test('a log line is JSON without what looks like a secret', () => {
  let written = ''
  const log = makeLog('info', { err: (text) => (written += text) })
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

test('a secret in an error from elsewhere is cut out as well', () => {
  let written = ''
  const log = makeLog('info', { err: (text) => (written += text) })
  const error = new Error(
    'connect to postgres://me:hunter2@db.example/x failed for ghs_hunter2hunter2',
  )
  log.error({ err: error, run_id: 'run_1' }, 'could not say Bearer hunter2hunter2')
  expect(written).not.toContain('hunter2')
  expect(JSON.parse(written)).toMatchObject({ run_id: 'run_1', err: { type: 'Error' } })
})
