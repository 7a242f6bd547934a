import { expect, it } from 'vitest'
import { troubleOf } from './trouble.ts'

const url = 'rediss://me:hunter2@redis.example:6380/3'

function errorOf(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}

it.each([
  [errorOf('', 'ECONNREFUSED'), 'No Redis can be reached at redis.example:6380 (ECONNREFUSED)'],
  [errorOf('x', 'EAI_AGAIN'), 'The host name redis.example cannot be found (EAI_AGAIN)'],
  [errorOf('connect ETIMEDOUT', 'ETIMEDOUT'), 'Redis at redis.example:6380 does not answer'],
  [errorOf('x', 'DEPTH_ZERO_SELF_SIGNED_CERT'), 'No TLS connection to Redis at redis.example:6380'],
  [errorOf('x', 'ERR_TLS_CERT_ALTNAME_INVALID'), 'No TLS connection to Redis at'],
  [errorOf('WRONGPASS invalid username-password pair'), 'rejects the user name or the password'],
  [errorOf('NOAUTH Authentication required.'), 'rejects the user name or the password (NOAUTH)'],
  [errorOf('ERR invalid password'), 'rejects the user name or the password'],
  [errorOf("READONLY You can't write against a read only replica."), 'is a read-only replica'],
  [errorOf('OOM command not allowed'), 'has no memory left'],
  [errorOf('MISCONF Redis is configured to save'), 'cannot save to its disk'],
  [errorOf('MOVED 866 10.0.0.1:6379'), 'is a Redis Cluster'],
  [errorOf('NOPERM this user has no permissions'), 'NOPERM this user has no permissions'],
  [errorOf("ERR The user can't run this command, on @user_script:217.."), '@user_script:217'],
  [errorOf('Protocol error, got "H" as reply type byte'), 'is not Redis'],
  [errorOf('ERR DB index is out of range'), 'Redis at redis.example:6380: ERR DB index'],
])('%s is explained', (error, text) => {
  const trouble = troubleOf(error, url)
  expect(trouble?.text).toContain(text)
  expect(trouble?.remedy).not.toBe('')
  expect(JSON.stringify(trouble)).not.toContain('hunter2')
})

it.each([
  errorOf('read ECONNRESET', 'ECONNRESET'),
  errorOf('Connection is closed.'),
  errorOf("Stream isn't writeable and enableOfflineQueue options is false"),
  errorOf('Reached the max retries per request limit (which is 0).'),
  null,
])('%s only follows from a lost connection', (error) => {
  expect(troubleOf(error, url)).toBeNull()
})
