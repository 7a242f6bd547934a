import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { QueueNames } from './names.ts'
import { readServer, refuseOldServer, warningsOf } from './redis-server.ts'

/** A Redis that answers every command of a pipeline with the next of these. */
function answering(...answers: readonly unknown[]): Redis {
  const pipeline = {
    info: () => pipeline,
    llen: () => pipeline,
    exec: async () =>
      answers.map((answer) => (answer instanceof Error ? [answer, undefined] : [null, answer])),
  }
  return { pipeline: () => pipeline } as unknown as Redis
}

const names = new QueueNames('x')
const serverInfo = (version: string): string => `# Server\r\nredis_version:${version}\r\nos:x\r\n`
const memory = '# Memory\r\nmaxmemory_policy:noeviction\r\n'

it('version, policy and waiting wake-ups are read', async () => {
  const redis = answering(serverInfo('7.0.15'), memory, 3, 0)
  expect(await readServer(redis, names, ['review', 'docs'])).toEqual({
    version: '7.0.15',
    evictionPolicy: 'noeviction',
    waiting: { review: 3, docs: 0 },
  })
})

it('what a user may not read is unknown', async () => {
  const denied = new Error('NOPERM')
  expect(await readServer(answering(denied, denied, denied), names, ['review'])).toEqual({
    version: null,
    evictionPolicy: null,
    waiting: { review: null },
  })
})

it.each(['4.0.14', '3.2.1'])('Redis %s is refused', async (version) => {
  await expect(refuseOldServer(answering(serverInfo(version)))).rejects.toThrow(
    `version ${version} is too old; BullMQ needs 5.0 or newer, and recommends 6.2`,
  )
})

it.each(['5.0.0', '6.2.1', '10.1.0'])('Redis %s is accepted', async (version) => {
  await refuseOldServer(answering(serverInfo(version)))
})

it('a Redis that does not say its version is accepted', async () => {
  await refuseOldServer(answering(new Error('NOPERM')))
})

it.each([
  ['6.0.16', 'noeviction', ['Redis 6.0.16 is older than BullMQ recommends.']],
  ['6.2.0', 'noeviction', []],
  ['10.0.0', 'volatile-ttl', [expect.stringContaining('(maxmemory-policy volatile-ttl)')]],
  [null, null, []],
])('Redis %s with the policy %s has these warnings', (version, evictionPolicy, details) => {
  const warnings = warningsOf({ version, evictionPolicy, waiting: {} })
  expect(warnings.map(({ detail }) => detail)).toEqual(details)
})
