/** Goal: whoever starts a process sees what it reads, and what is missing for the real GitHub. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FakeWorld } from '../../../test/cli/fake-world.ts'

test('a worker says which config file it reads', async () => {
  const world = new FakeWorld()
  world.composeWorker = () =>
    Promise.resolve({
      types: ['docs'],
      start: () => Promise.resolve(),
      close: () => Promise.resolve(0),
    })
  const path = join(world.cwd, 'holdfast.config.ts')
  writeFileSync(path, 'export default {}')
  const exit = world.run('worker')
  await world.printed.promise
  world.stop('SIGTERM')
  expect(await exit).toBe(0)
  expect(world.stderr).toContain(`Holdfast 1.2.3\n  config file     ${path}\n`)
})

test.each([true, false])(
  'a server says which config file it reads, or that there is none (%s)',
  async (hasFile) => {
    const world = new FakeWorld()
    const path = join(world.cwd, 'holdfast.config.ts')
    if (hasFile) writeFileSync(path, 'export default {}')
    const exit = world.run('serve')
    await world.printed.promise
    world.stop('SIGTERM')
    await exit
    const none = 'none: the working directory has no holdfast.config.ts or holdfast.config.mts'
    expect(world.stderr).toContain(`  config file     ${hasFile ? path : none}\n`)
  },
)

test.each([
  [
    {},
    'no GitHub credentials are set.',
    'GITHUB_TOKEN, or GITHUB_APP_ID with GITHUB_PRIVATE_KEY, and GITHUB_WEBHOOK_SECRET',
  ],
  [
    { GITHUB_WEBHOOK_SECRET: 'a secret of one'.padEnd(20, '.') },
    'no GitHub credentials are set.',
    'GITHUB_TOKEN, or GITHUB_APP_ID with GITHUB_PRIVATE_KEY',
  ],
  [{ GITHUB_TOKEN: 't' }, 'GITHUB_WEBHOOK_SECRET is not set.', 'GITHUB_WEBHOOK_SECRET'],
])('says in sandbox mode what is missing (%o)', async (env, reason, missing) => {
  const world = new FakeWorld()
  world.env = { ...env }
  const exit = world.run('serve')
  await world.printed.promise
  world.stop('SIGTERM')
  await exit
  expect(world.stderr).toContain('  mode            sandbox: GitHub is simulated')
  expect(world.stderr).toContain(`                  Reason: ${reason}\n`)
  expect(world.stderr).toContain(`To use the real GitHub, set ${missing}, and start with a new`)
})
