// Goal: a user who may not open the database learns that, and is not told that there is none.
import { chmodSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

const otherUser = 65_534
let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

/** Runs a command as a user who may not open the data folder. */
async function asOtherUser(...argv: readonly string[]) {
  // Whatever the command loads must be loaded before: it may be in a folder of the real user.
  await at.command(...argv)
  const folder = join(at.world.cwd, 'data')
  for (const path of [dirname(at.world.cwd), at.world.cwd]) chmodSync(path, 0o711)
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(otherUser)
  else chmodSync(folder, 0)
  try {
    return await at.command(...argv)
  } finally {
    if (isRoot) process.seteuid?.(0)
    else chmodSync(folder, 0o700)
  }
}

test.each([
  ['runs', 3],
  ['backup copy.db', 3],
  ['migrate', 1],
  ['token create --scope read', 1],
])('%s says that this user may not read the database', async (line, code) => {
  const done = await asOtherUser(...line.split(' '))
  expect(done).toMatchObject({ code, stdout: '' })
  expect(done.stderr).toMatch(/^holdfast: This user may not read the database \S+holdfast\.db, /)
  expect(done.stderr).toContain('Run the command as the user that runs Holdfast')
})

test('doctor says it once, with the remedy', async () => {
  const { code, stdout } = await asOtherUser('doctor')
  expect(code).toBe(1)
  expect(stdout).toMatch(/^✗ store +This user may not read the database .*\n +→ Run the command/m)
  expect(stdout).not.toMatch(/EACCES|no store exists/)
})
