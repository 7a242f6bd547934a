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
