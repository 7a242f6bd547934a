import { expect, test } from 'vitest'
import { RunSecrets } from './run-secrets.ts'

const sent = { text: 'a hunter2 b', 'hunter2!': [{ pin: 48151623 }, true, null, 7] }

test('the values of a lease are hidden in all texts, names and numbers', () => {
  const secrets = new RunSecrets()
  secrets.add('lease', ['hunter2', '48151623'])
  const hidden = { text: 'a *** b', '***!': [{ pin: '***' }, true, null, 7] }
  expect(secrets.maskOf('lease')(sent)).toEqual(hidden)
})

test('what another lease sends is unchanged', () => {
  const secrets = new RunSecrets()
  secrets.add('lease', ['hunter2'])
  expect(secrets.maskOf('other')(sent)).toBe(sent)
  expect(secrets.maskOf(null)(sent)).toBe(sent)
})

test('after its command has ended they are hidden for a while, and then forgotten', () => {
  const secrets = new RunSecrets()
  for (let n = 0; n <= 200; n += 1) {
    secrets.add(`lease ${n}`, ['hunter2'])
    secrets.ended(`lease ${n}`)
  }
  expect(secrets.maskOf('lease 0')('hunter2')).toBe('hunter2')
  expect(secrets.maskOf('lease 1')('hunter2')).toBe('***')
})
